"""From files and DataFrames to encoded columns."""

"""From values to bits: codes, exact integer counts, information tables, their decomposition."""

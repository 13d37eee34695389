"""The experiments of the study, one module each."""

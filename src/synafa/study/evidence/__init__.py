"""What experiments speak with: the paper's printed values, verdicts, tables, figures, paired comparisons."""

"""What happens under faults and bad input; the campaigns run at full size by `python -m tests.faults --full`."""

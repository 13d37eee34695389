"""Tables that do not fit in memory: batches from anywhere, exact edges, counts that grow and merge."""

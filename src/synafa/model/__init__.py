"""Policy and predictor as one object, and its file."""

"""Proof on one's own table: cross-fitted comparison of the model with what is simpler, as a page and as JSON."""

"""Benchmarks: ratios of two things measured in one run. `make bench` runs them all."""

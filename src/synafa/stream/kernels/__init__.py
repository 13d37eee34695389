"""Numba kernels of streams: one column of a batch at a time, plain arrays in and out."""

"""Numba kernels of the analyses: plain arrays in, plain arrays out."""

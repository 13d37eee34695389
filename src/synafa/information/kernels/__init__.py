"""Numba kernels of codes, counts and tables: plain arrays in, plain arrays out."""

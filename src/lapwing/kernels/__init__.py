"""Numba kernels: plain arrays in, plain arrays out. Each is headed by the problem it solves.

Nothing here imports the rest of lapwing, and nothing outside this room imports Numba. With
`NUMBA_DISABLE_JIT=1` the same source runs as ordinary Python: slow, but open to a debugger.
"""

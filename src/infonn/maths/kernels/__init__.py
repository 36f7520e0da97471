"""Numba twins of hot loops, each tested against its plain version."""

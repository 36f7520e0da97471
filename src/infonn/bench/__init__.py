"""Side-by-side measurements: ours against the plain way, in one process, as a ratio."""

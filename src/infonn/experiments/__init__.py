"""Simulated studies: one trial, many trials, and the experiments of the paper."""

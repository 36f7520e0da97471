"""Answers -> belief."""

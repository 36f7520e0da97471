"""Classifiers whose beliefs choose labels."""

"""Queries -> responses."""

"""Intervals, bands, metrics, and what moved between two tables."""

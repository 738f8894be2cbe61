"""Intervals, bands, metrics, and drift between two tables."""

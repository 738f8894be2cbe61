"""Scoring of all rows of a table, and predictions of held-out rows."""

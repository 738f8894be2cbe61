"""Explanations as plots: described once, drawn by plotly, and written to files."""

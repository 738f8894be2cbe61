"""Recipes of reports, the card of a model, and the jobs that make files."""

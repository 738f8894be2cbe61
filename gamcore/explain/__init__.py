"""Explanations of a model as plain frozen data: curves, surfaces, breakdowns, sentences."""

"""Refits on halves of the rows, whose spread is the uncertainty of a model."""

"""Measurements of accuracy, speed and statistical validity of additive models."""

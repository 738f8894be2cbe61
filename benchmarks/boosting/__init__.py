"""Accuracy, speed and honesty of additive models."""

"""Benchmarks of multi-task trees against alternative models."""

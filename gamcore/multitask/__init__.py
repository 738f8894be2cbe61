"""Boosted trees that several tasks share (Zhang and Li, CIKM 2019)."""

"""Shared parts of the measurements: tables, contenders, machines, cells."""

"""The former place of what gives a target away, which scripts import: see `shapewise.doctor.leaks`."""

from __future__ import annotations

from shapewise.doctor.leaks import leaks

__all__ = ["leaks"]

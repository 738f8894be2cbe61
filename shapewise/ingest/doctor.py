"""The former place of the doctor, which scripts import: it examines tables however they came in, and has a room of its
own (`shapewise.doctor`)."""

from __future__ import annotations

from shapewise.doctor.examine import examine

__all__ = ["examine"]

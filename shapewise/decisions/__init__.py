"""Boards of strategies, their plans and outcomes, and the proof of what is exported."""

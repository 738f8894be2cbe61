"""Boards of strategies, their plans and outcomes, and verification of exports."""

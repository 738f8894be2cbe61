"""Trees of several tasks against what else one would fit."""

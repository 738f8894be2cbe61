"""The model: terms over bins, losses, scales, purification."""

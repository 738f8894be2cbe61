"""What a black box would know beyond a model: how much better it is on held-out rows, and where; one press adds it."""

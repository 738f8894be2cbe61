"""What a model is: terms over bins, the loss, scales, purification."""

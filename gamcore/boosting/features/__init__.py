"""Which features enter a model, and which may leave it."""

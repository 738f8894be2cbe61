"""From rows to a model, of one score or of several classes."""

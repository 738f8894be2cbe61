"""From rows to a model, of one score or of several classes, and the settings that quick refits choose for it: bins,
and the power of a variance."""

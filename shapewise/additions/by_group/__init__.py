"""Where a model is wrong, on Overview: observed against predicted by any column of its table."""

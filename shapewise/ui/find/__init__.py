"""One search over all that a person may open, on every page."""

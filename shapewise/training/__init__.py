"""Training: from a specification to a stored model, in memory or from disk."""

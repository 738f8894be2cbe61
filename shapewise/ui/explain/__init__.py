"""What the pages that explain a model show."""

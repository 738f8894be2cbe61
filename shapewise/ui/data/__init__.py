"""What the page Data shows."""

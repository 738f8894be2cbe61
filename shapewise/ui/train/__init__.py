"""What the page Train shows."""

"""What the page Report shows."""

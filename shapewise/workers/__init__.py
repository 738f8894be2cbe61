"""What the child processes run."""

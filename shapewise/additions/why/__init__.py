"""Why did it move? Two groups of rows beside each other on pages: who came, what changed, and what is left over."""

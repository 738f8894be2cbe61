"""Work that is independent, in one thread or several; and what a fit reports while it runs."""

"""Tables that stay where they are, in files that the workers of a cluster read: a sample of them, and their rows."""

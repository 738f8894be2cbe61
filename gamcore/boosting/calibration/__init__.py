"""What is set at the end by all rows: the intercept, and how far thin ends of curves may go."""

"""All rows of a table, scored; held-out rows, measured."""

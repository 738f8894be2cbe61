"""Rows as counts of bin pairs, and as whole numbers whose sums are exact."""

"""Counts that outlast a fit, to which rows are added later, and what they tell without the rows."""

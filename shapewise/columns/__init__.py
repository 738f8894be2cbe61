"""Columns made from columns: formulas, changed types, and the steps that newer versions of a table repeat."""

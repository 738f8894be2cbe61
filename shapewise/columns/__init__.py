"""What columns hold and are for: roles; and columns made from columns: formulas, types, their steps."""

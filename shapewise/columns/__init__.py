"""What columns hold and are for: the doctor and roles; and columns made from columns: formulas, types, their steps."""

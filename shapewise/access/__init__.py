"""Who may do what, how much they may use, and what a shared deployment must be given."""

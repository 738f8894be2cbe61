"""Who may do what, how much they may use, and which settings a shared deployment needs."""

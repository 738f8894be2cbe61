"""Settings that are chosen by quick refits: bins, and the power of a variance."""

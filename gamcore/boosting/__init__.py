"""The loop that fits additive models: refits, rounds, pairs, rows in memory or on disk."""

"""Pairs of features: ranked, chosen, and boosted."""

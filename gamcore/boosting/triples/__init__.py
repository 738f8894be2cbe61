"""Triples of features: ranked against chance, chosen, and boosted on top of all their pairs."""

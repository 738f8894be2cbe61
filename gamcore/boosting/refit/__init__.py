"""One refit: its rows, its rounds, and the loop that runs these."""

"""Two models on the same rows, on Compare: which predicts better, where they differ, and for whom."""

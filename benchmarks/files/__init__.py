"""Public files of other projects, with their right cells written down by hand: ours beside other readers."""

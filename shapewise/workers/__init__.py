"""The programs that child processes run."""

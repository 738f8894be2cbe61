"""Tables, models and runs on disk, and the work done on them in child processes."""

"""Work in child processes: the queue, its scheduler, and the processes themselves."""

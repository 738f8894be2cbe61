"""From files that people bring to typed tables, read by a child process with limits."""

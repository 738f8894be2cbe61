"""Reading of user files into typed tables, in a child process with limits."""

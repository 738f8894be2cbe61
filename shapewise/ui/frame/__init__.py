"""What stands around every page: its heading, the sidebar, and what is shown while a server starts."""

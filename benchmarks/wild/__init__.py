"""Strangers' tables: each is loaded, trained and read as a user would, and all that is said of it is checked."""

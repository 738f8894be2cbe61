"""Typed columns and bins from data frames, and every random draw of rows."""

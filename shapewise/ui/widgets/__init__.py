"""Controls shared by several pages."""

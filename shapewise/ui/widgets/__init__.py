"""Controls that several pages show."""

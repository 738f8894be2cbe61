"""The version of the library and of the application."""

__version__ = "0.2.0"

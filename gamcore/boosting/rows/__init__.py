"""The rows of a fit, wherever they are: in memory, on disk, in parts on other machines."""

"""From a data frame to typed columns, bins, and every random draw of rows."""

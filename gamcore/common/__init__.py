"""What every room uses: array types, how numbers are written, optional libraries, pauses, and where additions are."""

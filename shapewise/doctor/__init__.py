"""What stands out in a table: IDs, codes for missing, copies, and what is known only later."""

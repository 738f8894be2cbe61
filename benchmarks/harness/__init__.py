"""What measurements share: tables, contenders, machines, cells."""

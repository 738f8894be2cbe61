"""What tests share; no test imports another."""

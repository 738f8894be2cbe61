"""What every page starts with: frame, state, sign-in, errors, words."""

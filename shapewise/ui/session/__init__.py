"""What every page begins with: frame, state, sign-in, errors, words."""

"""What every page knows of its session: what is in view, sign-in, errors, words."""

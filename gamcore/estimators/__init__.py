"""The scikit-learn face: parameters in, fitted attributes out."""

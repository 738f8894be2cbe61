"""The scikit-learn interface: parameters in, fitted attributes out."""

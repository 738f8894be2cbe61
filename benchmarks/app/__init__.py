"""The application: load, faults, attacks, exports."""

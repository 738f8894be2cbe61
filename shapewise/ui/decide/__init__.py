"""What the pages Strategies and Experiment show."""

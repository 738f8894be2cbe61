"""What a model says, as plain frozen data: curves, surfaces, breakdowns, sentences."""

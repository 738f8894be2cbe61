"""The flow of a dialogue on Strategies: steps with their shares, and an edge that becomes a scenario to learn."""

"""From curves to decisions: rules, segments, strategies, experiments."""

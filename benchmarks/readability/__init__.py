"""What a model that people can read gives up beside black boxes."""

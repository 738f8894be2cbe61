"""Pictures of a flow."""

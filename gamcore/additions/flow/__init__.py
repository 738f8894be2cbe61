"""The flow of a dialogue or of any other process: who goes from which step to which, and who leaves where."""

from gamcore.additions.flow.reading import edge_outcomes, read_flow
from gamcore.additions.flow.steps import Edge, Flow

__all__ = ["Edge", "Flow", "edge_outcomes", "read_flow"]

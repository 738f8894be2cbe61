"""Two models on the same rows: which predicts better, where they differ, and who scores more and less."""

from gamcore.additions.two_models.compared import TwoModels
from gamcore.additions.two_models.reading import compare_models

__all__ = ["TwoModels", "compare_models"]

"""Where a model is wrong, and for whom: observed against predicted by the groups of any column."""

from gamcore.additions.by_group.calibration import CalibrationByGroup
from gamcore.additions.by_group.reading import calibration_by_group

__all__ = ["CalibrationByGroup", "calibration_by_group"]

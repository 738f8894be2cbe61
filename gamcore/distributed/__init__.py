"""Tables in pieces, on this machine or on the workers of a Dask cluster: the same models from either.

Estimators fit to such tables: `model.fit("s3://bucket/table", "target", client=client)`. Here is what else is asked of
them, and who can do it: `OneMachine`, `OnCluster`.

Names are imported on first use, as those of `gamcore`: Dask is needed for a cluster alone.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gamcore.distributed.client import ClusterError
    from gamcore.distributed.cluster import OnCluster
    from gamcore.distributed.crew import StoppedError
    from gamcore.distributed.machine import OneMachine
    from gamcore.distributed.mapping import gather, over_pieces, predict_pieces, write_predictions

__all__ = [
    "ClusterError",
    "OnCluster",
    "OneMachine",
    "StoppedError",
    "gather",
    "over_pieces",
    "predict_pieces",
    "write_predictions",
]

_HOME = {
    "ClusterError": "client",
    "OnCluster": "cluster",
    "OneMachine": "machine",
    "StoppedError": "crew",
    "gather": "mapping",
    "over_pieces": "mapping",
    "predict_pieces": "mapping",
    "write_predictions": "mapping",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value

"""The methods that S-MDEClust is compared with: each its function and its class."""

from importlib import import_module
from typing import Any

# class -> module of this package; loaded on first use, since each has kernels of its own
METHODS = {
    "BLPKMeans": "blp_kmeans",
    "COPKMeans": "pck_means",
    "CVQE": "cvqe",
    "DILS": "dils",
    "HGMeans": "hg_means",
    "KempeSwapKMeans": "kempe_swap",
    "LCVQE": "cvqe",
    "NonsmoothClustering": "nonsmooth",
    "PCCC": "pccc",
    "PCKMeans": "pck_means",
    "RepetitiveBB": "repetitive",
    "SizedKMeans": "blp_kmeans",
    "SoftHGMeans": "soft_hg_means",
    "VNSClustering": "vns",
}

__all__ = list(METHODS)


def __getattr__(name: str) -> Any:
    if name in METHODS:
        return getattr(import_module(f"smdeclust.baselines.{METHODS[name]}"), name)
    raise AttributeError(f"module 'smdeclust.baselines' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(METHODS)

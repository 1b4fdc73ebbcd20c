"""The methods of the paper's comparison, as functions that make estimators."""

from importlib import import_module
from typing import Any, Self

import smdeclust
from smdeclust.exceptions import InvalidInputError
from smdeclust.paper.plan import Method


def own(n_clusters: int, seed: int, estimator: str = "SMDEClust", **settings: Any) -> Any:
    """An estimator of this package by name; `variant` asks for one of the paper's settings."""
    of = getattr(smdeclust, estimator)
    if "variant" in settings:
        return of.from_paper(n_clusters=n_clusters, random_state=seed, **settings)
    return of(n_clusters, random_state=seed, **settings)


class Unconstrained:
    """scikit-learn's k-means behind the interface of the others; it sees no pairs."""

    def __init__(self, n_clusters: int, seed: int, **settings: Any) -> None:
        from sklearn.cluster import KMeans

        self._model = KMeans(n_clusters, random_state=seed, **settings)

    def fit(self, X: Any, must_link: Any = None, cannot_link: Any = None) -> Self:
        self.labels_ = self._model.fit(X).labels_
        self.n_local_searches_ = 1
        self.n_local_iterations_ = self._model.n_iter_
        return self

    def get_params(self) -> dict[str, Any]:
        return self._model.get_params()


_HERE = "smdeclust.paper.methods"
DEFAULT = Method("SMDEClust", f"{_HERE}:own")
SG_MDE, S_MDE, SMG_MDE, SM_MDE = (
    Method(name, f"{_HERE}:own", {"variant": name})
    for name in ("SG-MDE", "S-MDE", "SMG-MDE", "SM-MDE")
)
# The heuristic comparison: about 100 solutions each, 25 iterations of a local search at most.
SG_MDE_100 = SG_MDE.but("SG-MDE", population_size=10, max_generations=10, max_local_iter=25)
BLP_KM, COP_KM = (
    Method(name, f"{_HERE}:own", {"estimator": estimator, "n_init": 100, "max_iter": 25})
    for name, estimator in (("BLP-KM", "BLPKMeans"), ("COP-KM", "COPKMeans"))
)
S_HG_MEANS = Method("S-HG-MEANS", f"{_HERE}:own", {"estimator": "SoftHGMeans"})
EXACT = Method("exact", f"{_HERE}:own", {"estimator": "ExactMSSC", "max_time": 300.0})
K_MEANS = Method("K-MEANS", f"{_HERE}:Unconstrained", {"init": "k-means++", "n_init": 1})

ALL = (DEFAULT, SG_MDE, S_MDE, SMG_MDE, SM_MDE, BLP_KM, COP_KM, S_HG_MEANS, EXACT, K_MEANS)
METHODS = {method.name: method for method in ALL}


def resolve(path: str) -> Any:
    """Return what ``"module:name"`` names."""
    module, colon, name = path.partition(":")
    try:
        if not colon:
            raise InvalidInputError("there is no colon in it")
        return getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise InvalidInputError(
            f"{path!r} cannot be imported ({error}). Write 'module:function', with "
            "the module on the path of Python."
        ) from error

"""The methods of the paper's comparison, as factories that a plan names.

To add one's own, write a function in any importable module and name it::

    # mymethods.py
    def fast(n_clusters, seed, n_init=10):
        return MyEstimator(n_clusters, n_init=n_init, random_state=seed)

    mine = Method("mine", "mymethods:fast", {"n_init": 50})

The estimator needs ``fit(X, must_link=..., cannot_link=...)`` and ``labels_``. Objective, broken
pairs and agreement with the classes are computed from the labels, the same way for all.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import smdeclust
from smdeclust.exceptions import InvalidInputError
from smdeclust.paper.plan import Method


def memetic(n_clusters: int, seed: int, **settings: Any) -> Any:
    """Our solver with its own defaults."""
    return smdeclust.SMDEClust(n_clusters, random_state=seed, **settings)


def paper_variant(n_clusters: int, seed: int, variant: str, **settings: Any) -> Any:
    """A variant of the paper, under the paper's setting."""
    return smdeclust.SMDEClust.from_paper(
        variant, n_clusters=n_clusters, random_state=seed, **settings
    )


def multi_start(n_clusters: int, seed: int, estimator: str, **settings: Any) -> Any:
    """A heuristic in a multi-start, by the name of its estimator."""
    return getattr(smdeclust, estimator)(n_clusters, random_state=seed, **settings)


def soft_hg_means(n_clusters: int, seed: int, **settings: Any) -> Any:
    """S-HG-MEANS with annotations taken as accurate."""
    return smdeclust.SoftHGMeans(n_clusters, random_state=seed, **settings)


class _Unconstrained:
    """scikit-learn's k-means behind the interface of the others; it sees no pairs."""

    def __init__(self, n_clusters: int, seed: int, **settings: Any) -> None:
        from sklearn.cluster import KMeans

        self._model = KMeans(n_clusters, random_state=seed, **settings)

    def fit(self, X: Any, must_link: Any = None, cannot_link: Any = None) -> _Unconstrained:
        self.labels_ = self._model.fit(X).labels_
        self.n_local_searches_ = 1
        self.n_local_iterations_ = self._model.n_iter_
        return self

    def get_params(self) -> dict[str, Any]:
        return self._model.get_params()


class _Exact:
    """ExactMSSC, whose bound goes into the row as well."""

    def __init__(self, n_clusters: int, seed: int, **settings: Any) -> None:
        self._model = smdeclust.ExactMSSC(n_clusters, random_state=seed, **settings)

    def fit(self, X: Any, must_link: Any = None, cannot_link: Any = None) -> _Exact:
        model = self._model.fit(X, must_link=must_link, cannot_link=cannot_link)
        self.labels_ = model.labels_
        self.stop_reason_ = model.status_
        self.details_ = {
            "lower_bound": float(model.lower_bound_),
            "gap": float(model.gap_),
            "improved": bool(model.certificate_.improved),
        }
        return self

    def get_params(self) -> dict[str, Any]:
        return self._model.get_params()


def exact(n_clusters: int, seed: int, **settings: Any) -> Any:
    """Our exact method: the solver, and branch and cut until its labels are proven optimal."""
    return _Exact(n_clusters, seed, **settings)


def k_means(n_clusters: int, seed: int, **settings: Any) -> Any:
    """Unconstrained k-means (scikit-learn's), the reference of the violation table."""
    return _Unconstrained(n_clusters, seed, **settings)


_HERE = "smdeclust.paper.methods"
DEFAULT = Method("SMDEClust", f"{_HERE}:memetic")
SG_MDE, S_MDE, SMG_MDE, SM_MDE = (
    Method(name, f"{_HERE}:paper_variant", {"variant": name})
    for name in ("SG-MDE", "S-MDE", "SMG-MDE", "SM-MDE")
)
# The heuristic comparison: about 100 solutions each, 25 iterations of a local search at most.
SG_MDE_100 = SG_MDE.but("SG-MDE", population_size=10, max_generations=10, max_local_iter=25)
BLP_KM = Method(
    "BLP-KM", f"{_HERE}:multi_start", {"estimator": "BLPKMeans", "n_init": 100, "max_iter": 25}
)
COP_KM = Method(
    "COP-KM", f"{_HERE}:multi_start", {"estimator": "COPKMeans", "n_init": 100, "max_iter": 25}
)
S_HG_MEANS = Method("S-HG-MEANS", f"{_HERE}:soft_hg_means")
EXACT = Method("exact", f"{_HERE}:exact", {"max_time": 300.0})
K_MEANS = Method("K-MEANS", f"{_HERE}:k_means", {"init": "k-means++", "n_init": 1})

METHODS = {
    method.name: method
    for method in (
        DEFAULT,
        SG_MDE,
        S_MDE,
        SMG_MDE,
        SM_MDE,
        BLP_KM,
        COP_KM,
        S_HG_MEANS,
        EXACT,
        K_MEANS,
    )
}


def resolve(path: str) -> Any:
    """Return what ``"module:name"`` names."""
    module, colon, name = path.partition(":")
    try:
        if not colon:
            raise InvalidInputError("there is no colon in it")
        return getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise InvalidInputError(
            f"{path!r} names nothing that can be imported ({error}). Write 'module:function', with "
            "the module on the path of Python."
        ) from error

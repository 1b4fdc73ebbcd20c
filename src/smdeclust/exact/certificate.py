"""Certificate: a bound, the clustering it belongs to, and the proof, as plain arrays."""

import os
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import IO, Any, Self

import numpy as np
from numpy.typing import NDArray

from smdeclust.exceptions import InvalidInputError, SMDEClustError
from smdeclust.io.arrays import parse_npz

FORMAT = 2
_LATER = ("size_row", "size_value", "part")  # not in format 1


class InvalidCertificateError(SMDEClustError, ValueError):
    """A certificate does not prove what it claims."""


_rows: Any = partial(np.empty, 0, np.int32)
_values: Any = partial(np.empty, 0)
_no_pair, _root, _no_leaf = (partial(np.array, given) for given in ([-1], [0], [0, 0]))

# The kinds of multipliers, and the arrays that hold them.
KINDS = {
    "lambda": ("lambda_row", "lambda_column", "lambda_value"),
    "cut": ("cut_rows", "cut_value"),
    "size": ("size_row", "size_value"),
}
OWNED = tuple(name for names in KINDS.values() for name in names)
VALUES = tuple(f"{kind}_value" for kind in KINDS)


@dataclass(frozen=True)
class Multipliers:
    """The multipliers of a leaf, in terms of rows of the data.

    ``lambda_value`` are coefficients of ``Z[lambda_row, lambda_column]``. A cut is a center row, up
    to five member rows (-1: none) and a multiplier. ``size_value`` are multipliers of the sizes:
    positive where ``Z[size_row, size_row]`` is at least 1 / size_max, negative where it is at most
    1 / size_min.
    """

    lambda_row: NDArray[np.int32] = field(default_factory=_rows)
    lambda_column: NDArray[np.int32] = field(default_factory=_rows)
    lambda_value: NDArray[np.float64] = field(default_factory=_values)
    cut_rows: NDArray[np.int32] = field(default_factory=lambda: np.empty((0, 6), np.int32))
    cut_value: NDArray[np.float64] = field(default_factory=_values)
    size_row: NDArray[np.int32] = field(default_factory=_rows)
    size_value: NDArray[np.float64] = field(default_factory=_values)

    def scaled(self, exponent: int) -> Self:
        """All values times 2 to this power; one that overflows is infinite."""
        with np.errstate(over="ignore"):
            values = {name: np.ldexp(getattr(self, name), exponent) for name in VALUES}
        return replace(self, **values)


@dataclass(frozen=True)
class Proof(Multipliers):
    """The branching tree, and the multipliers of its leaves one after the other.

    Node 0 is the root. Every other node adds one pair to those of its parent: ``kind`` 1 puts rows
    ``first`` and ``second`` together, ``kind`` -1 apart. Nodes without children are leaves. Leaf
    ``leaf_node[l]`` owns the multipliers ``lambda_ptr[l]:lambda_ptr[l + 1]``, the cuts
    ``cut_ptr[l]:cut_ptr[l + 1]`` and the sizes ``size_ptr[l]:size_ptr[l + 1]``.

    Where the rows are split into parts, ``part`` numbers the part of each row, and every part has a
    root of its own (a node without parent), in this order. The bounds of the parts add up.
    """

    parent: NDArray[np.int64] = field(default_factory=_no_pair)
    kind: NDArray[np.int64] = field(default_factory=_root)
    first: NDArray[np.int64] = field(default_factory=_no_pair)
    second: NDArray[np.int64] = field(default_factory=_no_pair)
    leaf_node: NDArray[np.int64] = field(default_factory=_root)
    lambda_ptr: NDArray[np.int64] = field(default_factory=_no_leaf)
    cut_ptr: NDArray[np.int64] = field(default_factory=_no_leaf)
    size_ptr: NDArray[np.int64] = field(default_factory=_no_leaf)
    part: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))

    @classmethod
    def of_tree(
        cls, decisions: list[tuple[int, int, int, int]], leaves: dict[int, Multipliers]
    ) -> Self:
        """From parent, kind, first and second of each node, and what the leaves own."""
        tree = dict(zip(("parent", "kind", "first", "second"), np.array(decisions).T, strict=True))
        owned = [leaves[node] for node in sorted(leaves)]
        counts = {name: [len(getattr(leaf, name)) for leaf in owned] for name in VALUES}
        ends = {f"{kind}_ptr": np.cumsum([0, *counts[f"{kind}_value"]]) for kind in KINDS}
        return cls(leaf_node=np.array(sorted(leaves)), **tree, **ends, **_stacked(owned, OWNED))

    def renamed(self, rows: NDArray[np.int64]) -> "Proof":
        """Return the same proof with row i called ``rows[i]``."""

        def name(values: NDArray[Any]) -> NDArray[Any]:
            return np.where(values < 0, -1, rows[values]).astype(values.dtype)

        named = ("first", "second", *(name for name in OWNED if name not in VALUES))
        return replace(self, **{which: name(getattr(self, which)) for which in named})


def _stacked(parts: Sequence[Any], names: Iterable[str]) -> dict[str, NDArray[Any]]:
    return {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}


def join_proofs(proofs: list[Proof], part: NDArray[np.int64]) -> Proof:
    """One proof from those of the parts, in the order of their numbers; rows named alike."""
    nodes = np.cumsum([0, *(len(proof.parent) for proof in proofs)]).tolist()

    def shifted(name: str) -> NDArray[np.int64]:
        numbers = zip((getattr(proof, name) for proof in proofs), nodes, strict=False)
        return np.concatenate([np.where(some < 0, -1, some + first) for some, first in numbers])

    ends = {}
    for kind in KINDS:
        counts = [np.diff(getattr(proof, f"{kind}_ptr")) for proof in proofs]
        ends[f"{kind}_ptr"] = np.concatenate([[0], np.cumsum(np.concatenate(counts))])
    same = _stacked(proofs, ("kind", "first", "second", *OWNED))
    moved: dict[str, Any] = {name: shifted(name) for name in ("parent", "leaf_node")}
    return Proof(part=part, **moved, **ends, **same)


@dataclass(frozen=True)
class Certificate:
    """The result of `certify`.

    Attributes
    ----------
    labels
        The best clustering that was found. It is at least as good as the given one.
    n_clusters
        The number of clusters, K.
    lower_bound, upper_bound
        A lower bound on the objective of every feasible clustering, and the objective of `labels`.
    gap
        ``(upper - lower) / upper``, or 0 if the optimum is zero.
    status
        ``"optimal"`` (the gap is within ``tol``), ``"time_limit"``, ``"interrupted"``,
        ``"memory_limit"``, ``"too_large"``, ``"parts"`` (every part is proven), ``"bounds_differ"``
        (the clusters have different size bounds, and the proof uses the widest) or
        ``"precision_limit"`` (``tol`` is finer than double precision allows for these data).
    tol
        The requested gap.
    improved
        Whether `labels` is better than the given clustering.
    root_bound
        The bound before any branching.
    n_groups, n_nodes, n_iterations
        The size of the root relaxation, and the amount of work.
    seconds
        The elapsed time.
    message
        If nothing was proven, a sentence about what a proof would need.
    proof
        The tree and its multipliers, which `smdeclust.exact.verify` checks.
    """

    labels: NDArray[np.int64]
    n_clusters: int
    lower_bound: float
    upper_bound: float
    gap: float
    status: str
    tol: float
    improved: bool = False
    root_bound: float = 0.0
    n_groups: int = 0
    n_nodes: int = 0
    n_iterations: int = 0
    seconds: float = 0.0
    message: str = ""
    proof: Proof = field(default_factory=Proof, repr=False)

    @property
    def sentence(self) -> str:
        """A sentence about how good the labels are."""
        return above_best(self.upper_bound, self.lower_bound)

    def save(self, path: str | os.PathLike[str] | IO[bytes]) -> None:
        """Save the certificate as an ``.npz`` file, or write it to an open binary file."""
        arrays: dict[str, Any] = {"format": np.int64(FORMAT)}
        arrays |= {name: value for name, value in vars(self).items() if name != "proof"}
        arrays |= {f"proof_{name}": value for name, value in vars(self.proof).items()}
        with nullcontext(path) if hasattr(path, "write") else open(path, "wb") as stream:
            np.savez_compressed(stream, **arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, max_bytes: int = 2**30) -> Self:
        """Load a certificate that `save` has written.

        Loading is safe for files from unknown sources, but only `verify` checks the claim.

        Parameters
        ----------
        path
            The file.
        max_bytes
            Files that would unpack to more than this are rejected before memory is allocated.
        """
        try:
            stored = parse_npz(Path(path).read_bytes(), path, max_bytes)
            form = int(stored["format"].item())
            if form not in (1, FORMAT):
                raise ValueError(f"format {form} is not known to this version; update smdeclust")
            if form == 1:  # neither sizes nor parts
                stored |= {f"proof_{name}": getattr(Proof(), name) for name in _LATER}
                stored["proof_size_ptr"] = np.zeros(len(stored["proof_cut_ptr"]), np.int64)
            proof = Proof(**{item.name: stored[f"proof_{item.name}"] for item in fields(Proof)})
            own = [item.name for item in fields(cls) if item.name not in ("labels", "proof")]
            values = {name: stored[name].item() for name in own}
            return cls(labels=stored["labels"], proof=proof, **values)
        except FileNotFoundError:
            raise
        except (KeyError, ValueError, OSError, EOFError) as error:
            reason = f"{error.args[0]} is missing" if isinstance(error, KeyError) else error
            raise InvalidInputError(
                f"{path} is not a certificate written by Certificate.save: {reason}"
            ) from error


def above_best(upper: float, lower: float) -> str:
    """How far a cost can be above the best possible, given a lower bound: for people."""
    if upper == 0.0:
        return "the best possible: its objective is 0"
    if lower <= 0.0:
        return "no useful bound was found"
    return f"at most {100.0 * max(upper / lower - 1.0, 0.0):.2g}% above the best possible"


def relative_gap(upper: float, lower: float) -> float:
    """``(upper - lower) / upper``, and 0 where the upper bound is 0."""
    return 0.0 if upper == 0.0 else max(upper - lower, 0.0) / upper

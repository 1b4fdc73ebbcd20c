"""Certificate: a bound, the clustering it belongs to, and the proof, as plain arrays."""

from __future__ import annotations

import math
import os
import zipfile
from dataclasses import dataclass, field, fields, replace
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from smdeclust.exceptions import InvalidInputError, SMDEClustError

FORMAT = 2


class InvalidCertificateError(SMDEClustError, ValueError):
    """The claim of a certificate does not follow from what it contains."""


@dataclass(frozen=True)
class Proof:
    """The branching tree and the multipliers of its leaves, all in terms of rows of the data.

    Node 0 is the root. Every other node adds one pair to those of its parent: ``kind`` 1 puts rows
    ``first`` and ``second`` together, ``kind`` -1 apart. Nodes without children are leaves. Leaf
    ``leaf_node[l]`` owns the multipliers ``lambda_ptr[l]:lambda_ptr[l + 1]`` (coefficients
    of ``Z[row, column]``) and the cuts ``cut_ptr[l]:cut_ptr[l + 1]``:
    a center row, up to five member rows (-1: none) and a multiplier. ``size_row`` and
    ``size_value`` hold multipliers of the sizes: positive where ``Z[row, row]`` is at least
    1 / size_max, negative where it is at most 1 / size_min.

    Where the rows are split into parts, ``part`` numbers the part of each row, and every part has a
    root of its own (a node without parent), in this order. The bounds of the parts add up.
    """

    parent: NDArray[np.int64] = field(default_factory=lambda: np.array([-1]))
    kind: NDArray[np.int64] = field(default_factory=lambda: np.array([0]))
    first: NDArray[np.int64] = field(default_factory=lambda: np.array([-1]))
    second: NDArray[np.int64] = field(default_factory=lambda: np.array([-1]))
    leaf_node: NDArray[np.int64] = field(default_factory=lambda: np.array([0]))
    lambda_ptr: NDArray[np.int64] = field(default_factory=lambda: np.zeros(2, np.int64))
    lambda_row: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, np.int32))
    lambda_column: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, np.int32))
    lambda_value: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    cut_ptr: NDArray[np.int64] = field(default_factory=lambda: np.zeros(2, np.int64))
    cut_rows: NDArray[np.int32] = field(default_factory=lambda: np.empty((0, 6), np.int32))
    cut_value: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    size_ptr: NDArray[np.int64] = field(default_factory=lambda: np.zeros(2, np.int64))
    size_row: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, np.int32))
    size_value: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    part: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))

    def renamed(self, rows: NDArray[np.int64]) -> Proof:
        """Return the same proof with row i called ``rows[i]``."""

        def name(values: NDArray[Any]) -> NDArray[Any]:
            return np.where(values < 0, -1, rows[values]).astype(values.dtype)

        return replace(
            self,
            first=name(self.first),
            second=name(self.second),
            lambda_row=name(self.lambda_row),
            lambda_column=name(self.lambda_column),
            cut_rows=name(self.cut_rows),
            size_row=name(self.size_row),
        )


def join_proofs(proofs: list[Proof], part: NDArray[np.int64]) -> Proof:
    """One proof from those of the parts, in the order of their numbers; rows named alike."""

    def stacked(name: str) -> NDArray[Any]:
        return np.concatenate([getattr(proof, name) for proof in proofs])

    def shifted(name: str, by: list[int]) -> NDArray[np.int64]:
        moved = [
            np.where(getattr(proof, name) < 0, -1, getattr(proof, name) + first)
            for proof, first in zip(proofs, by, strict=True)
        ]
        return np.concatenate(moved)

    def pointer(name: str, value: str) -> NDArray[np.int64]:
        counts = [np.diff(getattr(proof, name)) for proof in proofs]
        out = np.concatenate([[0], np.cumsum(np.concatenate(counts))]).astype(np.int64)
        assert out[-1] == sum(len(getattr(proof, value)) for proof in proofs)
        return out

    nodes = [0, *np.cumsum([len(proof.parent) for proof in proofs])[:-1].tolist()]
    same = ("kind", "first", "second", "lambda_row", "lambda_column", "lambda_value", "cut_rows",
            "cut_value", "size_row", "size_value")  # fmt: skip
    return Proof(
        part=part,
        parent=shifted("parent", nodes),
        leaf_node=shifted("leaf_node", nodes),
        lambda_ptr=pointer("lambda_ptr", "lambda_value"),
        cut_ptr=pointer("cut_ptr", "cut_value"),
        size_ptr=pointer("size_ptr", "size_value"),
        **{name: stacked(name) for name in same},
    )


@dataclass(frozen=True)
class Certificate:
    """What was proven about one problem.

    Attributes
    ----------
    labels
        (N,) best clustering known, at least as good as the one given.
    n_clusters
        K.
    lower_bound, upper_bound
        No feasible clustering costs less than the first; ``labels`` cost the second.
    gap
        ``(upper - lower) / upper``; 0 for an optimum of zero.
    status
        ``"optimal"`` (gap within ``tol``), ``"time_limit"``, ``"interrupted"``, ``"memory_limit"``,
        ``"too_large"``, ``"parts"`` (what a split into parts can prove is proven),
        ``"bounds_differ"`` (clusters have different bounds on sizes, and the proof is for the
        widest of them) or ``"precision_limit"`` (``tol`` is finer than double precision allows for
        these data).
    tol
        The gap asked for.
    improved
        Whether ``labels`` are better than those given.
    root_bound
        Bound before any branching.
    n_groups, n_nodes, n_iterations
        Size of the root relaxation, and the work done.
    seconds
        Wall time.
    message
        For people: what it would take where nothing was proven.
    proof
        The tree and its multipliers; what `smdeclust.exact.verify` checks.
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
        """How good the labels are, in one line."""
        return above_best(self.upper_bound, self.lower_bound)

    def save(self, path: str | os.PathLike[str] | IO[bytes]) -> None:
        """Write to an ``.npz`` file of plain arrays (no pickle), or to an open binary file."""
        arrays: dict[str, Any] = {"format": np.int64(FORMAT)}
        for item in fields(self):
            if item.name != "proof":
                arrays[item.name] = np.asarray(getattr(self, item.name))
        for item in fields(self.proof):
            arrays[f"proof_{item.name}"] = getattr(self.proof, item.name)
        if isinstance(path, str | os.PathLike):
            with open(path, "wb") as stream:
                np.savez_compressed(stream, **arrays)
        else:
            np.savez_compressed(path, **arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, max_bytes: int = 2**30) -> Certificate:
        """Read what `save` wrote. Nothing in the file is executed, and nothing is trusted yet.

        Parameters
        ----------
        path
            The file.
        max_bytes
            Refuse, before memory is taken, what would unpack to more than this.

        Raises
        ------
        InvalidInputError
            The file is not a certificate.
        """
        try:
            with open(path, "rb") as stream:
                stored = _read_arrays(stream, max_bytes=max_bytes)
            if int(stored["format"].item()) not in (1, FORMAT):
                raise ValueError(
                    f"format {stored['format'].item()} is not known here; update smdeclust"
                )
            if int(stored["format"].item()) == 1:  # neither sizes nor parts
                stored["proof_size_ptr"] = np.zeros(len(stored["proof_cut_ptr"]), np.int64)
            old = {"size_row", "size_value", "part"} if stored["format"].item() == 1 else set()
            names = [item.name for item in fields(Proof) if item.name not in old]
            values: dict[str, Any] = {"proof": Proof(**{n: stored[f"proof_{n}"] for n in names})}
            for item in fields(cls):
                if item.name != "proof":
                    value = stored[item.name]
                    values[item.name] = value if item.name == "labels" else value.item()
        except FileNotFoundError:
            raise
        except (KeyError, ValueError, OSError, EOFError) as error:
            reason = f"{error.args[0]} is missing" if isinstance(error, KeyError) else error
            raise InvalidInputError(
                f"{path} is not a certificate written by Certificate.save: {reason}"
            ) from error
        return cls(**values)


def above_best(upper: float, lower: float) -> str:
    """How far a cost can be above the best possible, given a lower bound: for people."""
    if upper == 0.0:
        return "the best possible: it costs nothing"
    if lower <= 0.0:
        return "no useful bound was found"
    return f"at most {100.0 * max(upper / lower - 1.0, 0.0):.2g}% above the best possible"


def relative_gap(upper: float, lower: float) -> float:
    """``(upper - lower) / upper``, and 0 where the upper bound is 0."""
    return 0.0 if upper == 0.0 else max(upper - lower, 0.0) / upper


# Names and values only: no objects, nothing that could be executed.
_KINDS = "biufU"


def _read_arrays(stream: IO[bytes], *, max_bytes: int) -> dict[str, np.ndarray]:
    """All arrays of an archive, by name.

    Raises
    ------
    ValueError
        The archive is damaged, an array's header contradicts its size, it holds objects, or all of
        them together would take more than ``max_bytes``.
    """
    arrays = {}
    try:
        with zipfile.ZipFile(stream) as archive:
            members = archive.infolist()
            total = sum(member.file_size for member in members)
            if total > max_bytes:
                raise ValueError(
                    f"it would unpack to {total / 2**20:,.0f} MiB, more than the "
                    f"{max_bytes / 2**20:,.0f} allowed (max_bytes)"
                )
            for member in members:
                if not member.filename.endswith(".npy"):
                    raise ValueError(f"it holds {member.filename!r}, which is no array")
                if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                    raise ValueError(f"{member.filename} is packed in a way that save never uses")
                with archive.open(member) as file:
                    arrays[member.filename[:-4]] = _read_array(file, member)
    except (ValueError, OSError, MemoryError):
        raise
    except Exception as error:  # zipfile, zlib, numpy and tokenize each have their own kinds
        raise ValueError(f"the archive is damaged ({error})") from error
    return arrays


def _read_array(file: IO[bytes], member: zipfile.ZipInfo) -> np.ndarray:
    """One array; its header must promise exactly the bytes that are there."""
    version = np.lib.format.read_magic(file)
    if version == (1, 0):
        shape, fortran, dtype = np.lib.format.read_array_header_1_0(file)
    elif version == (2, 0):
        shape, fortran, dtype = np.lib.format.read_array_header_2_0(file)
    else:
        raise ValueError(f"{member.filename}: array format {version} is not known")
    if dtype.kind not in _KINDS or dtype.hasobject:
        raise ValueError(f"{member.filename}: values of type {dtype} do not belong here")
    promised = math.prod(shape) * dtype.itemsize
    here = member.file_size - file.tell()
    if min(shape, default=0) < 0 or promised != here:
        raise ValueError(f"{member.filename}: {here} bytes where its header promises {promised}")
    content = file.read(promised)
    file.read(1)  # at the end the checksum is compared
    if len(content) != promised:
        raise ValueError(f"{member.filename}: cut off")
    array = np.frombuffer(content, dtype)
    return array.reshape(shape, order="F" if fortran else "C")

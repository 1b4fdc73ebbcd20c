"""The paper's data sets, from a local folder or from the original places."""

import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from smdeclust.datasets import catalog, originals
from smdeclust.datasets.generate import make_constraints, make_synthetic
from smdeclust.datasets.storage import Remote, discard, fetch, local_file, not_found
from smdeclust.exceptions import DataNotFoundError, InvalidInputError
from smdeclust.io import Constraints, read_constraints, read_table
from smdeclust.io.arrays import read_arrays
from smdeclust.io.files import read_bytes

# Hashes of original files that are known. Those of the zip archives are not; what comes out of
# them is compared with digests.json, as everything is.
_MNIST_HASHES = {
    "train-images-idx3-ubyte.gz": "md5:f68b3c2dcbeaaa9fbdd348bbdeb94873",
    "train-labels-idx1-ubyte.gz": "md5:d53e105ee54ea40749a09fcbcd1e9432",
    "t10k-images-idx3-ubyte.gz": "md5:9fb629c4189551a2d022fa330f9573f3",
    "t10k-labels-idx1-ubyte.gz": "md5:ec29112dd5afa0611ce80d1b7f02629c",
}
_CIFAR_BINARY = Remote("toronto", "cifar-10-binary.tar.gz", "md5:c32a1d4ab5d03f1284b67883e8d87530")
_GENE_UCI = Remote("uci", "401/gene+expression+cancer+rna+seq.zip")


Arrays = tuple[NDArray[Any], NDArray[np.int64] | None]


class _Source(NamedTuple):
    """One way to a data set: the files it needs, and `parse`, which reads them once downloaded."""

    remotes: tuple[Remote, ...]
    parse: Callable[[list[Path], str], Arrays]


def load_set1(name: str) -> catalog.Dataset:
    """Load a data set of set 1, such as iris, wine, connectionist, seeds or glass.

    The values are as published: glass is scaled to [-1, 1], and time series are standardized. The
    classes come from the file ``<name>.labels.txt`` in the local folder. If the data are not in
    ``SMDECLUST_DATA`` and cannot be downloaded, the error is a `DataNotFoundError`.
    """
    return _load(catalog.find_dataset(name, 1))


def load_set2(name: str) -> catalog.Dataset:
    """Load a data set of set 2: banana, letter, shuttle, cifar10 or mnist.

    All columns are standardized, as in the paper. If the data are not in ``SMDECLUST_DATA`` and
    cannot be downloaded, the error is a `DataNotFoundError`.
    """
    raw = _load(catalog.find_dataset(name, 2))
    return catalog.Dataset(name, standardize(raw.X), raw.y, raw.n_clusters, raw.source)


def load_set3(n: int, k: int) -> catalog.Dataset:
    """Load the data set of set 3 with ``n`` points and ``k`` clusters.

    If it is not in the local folder, ``make_synthetic`` generates it. If the result differs from
    the published data on your machine, the data are downloaded.
    """
    info = catalog.find_dataset(catalog.set3_name(n, k), 3)
    if local_points(info) is None:
        made = make_synthetic(n, k)
        if catalog.digest_points(made.X) == catalog.known_digests()[f"{info.name}/X"]:
            return made
    return _load(info)


def load_constraints(dataset: str | catalog.Dataset, configuration: str | int) -> Constraints:
    """Load the pairs of one configuration.

    Parameters
    ----------
    dataset
        A data set, or its name (as in ``list_datasets``).
    configuration
        The name of the configuration: ``ml_A_cl_B_s`` for set 1, or the number of pairs for the
        other sets. ``list_datasets`` lists all names.
    """
    info = catalog.find_dataset(dataset.name if isinstance(dataset, catalog.Dataset) else dataset)
    name, wanted = info.name, str(configuration)
    if wanted not in info.configurations:
        raise InvalidInputError(
            f"{name} has no configuration {wanted!r}. Choose one of "
            f"{', '.join(info.configurations)}."
        )
    key = f"{name}/constraints/{wanted}"
    format, end = ("links", "txt") if info.set == 1 else ("json", "json")
    file = f"{_folder(info)}/constraints/{wanted}.{end}"
    path = local_file(file)
    if path is not None:
        found = read_constraints(path, format=format, n_points=info.n_points)
        _warn_unless_equal(catalog.digest_pairs(found), key, str(path))
        return found
    if name == "cifar10" or info.set == 3:
        # Those of cifar10 are published nowhere; they follow from the classes by the same rule.
        is_made = info.set == 3
        y = (make_synthetic(info.n_points, info.n_clusters) if is_made else _load(info)).y
        assert y is not None
        made = make_constraints(y, int(wanted))
        if not is_made or catalog.digest_pairs(made) == catalog.known_digests()[key]:
            return made
    remote = Remote("pc-sos-sdp", f"constraints/{name}/{wanted}.txt")
    if info.set > 1:
        stem = _SYNTHETIC.format(info) if info.set == 3 else name
        remote = Remote("s_mdeclust", f"constraint_sets/{stem}_constraints_{wanted}.json")
    try:
        found = read_constraints(fetch(remote), format=format, n_points=info.n_points)
        if catalog.digest_pairs(found) != catalog.known_digests()[key]:
            raise InvalidInputError(f"{remote.url} does not contain the published pairs.")
        return found
    except (DataNotFoundError, InvalidInputError) as error:
        if isinstance(error, InvalidInputError):
            discard(remote)
        what = f"The configuration {wanted} of {name}"
        raise not_found(what, file, [remote], [str(error)]) from error


def standardize(X: NDArray[Any]) -> NDArray[np.float64]:
    """Scale the columns to mean 0 and standard deviation 1. Constant columns are only centered."""
    constant = X.min(axis=0) == X.max(axis=0)
    scaled = np.array(X, dtype=np.float64, order="C")
    scaled -= scaled.mean(axis=0)
    deviation = np.sqrt(np.einsum("ij,ij->j", scaled, scaled) / len(scaled))
    # Rounding leaves a constant column near, not at, zero: it must not be blown up to noise.
    deviation[constant] = 1.0
    scaled[:, constant] = 0.0
    scaled /= deviation
    return scaled


_SYNTHETIC = "synthetic_n{0.n_points}_d2_k{0.n_clusters}"
_ENDS = {1: ("txt", "npy", "npz"), 2: ("npz",), 3: ()}
_AS_PUBLISHED = {"gene": "data.csv", "cifar10": "test_batch.png"}


def _folder(info: catalog.DatasetInfo) -> str:
    return f"set{info.set}/{info.name}"


def _files(info: catalog.DatasetInfo) -> list[str]:
    """Names that the points may have in a local folder, the usual one first."""
    names = [f"{info.name}.{end}" for end in _ENDS[info.set]]
    if info.set == 3 or info.name in _AS_PUBLISHED:
        names.append(_AS_PUBLISHED.get(info.name, "data.csv"))
    return [f"{_folder(info)}/{name}" for name in names]


def local_points(info: catalog.DatasetInfo) -> Path | None:
    """The file of the points in the local folder, where there is one."""
    return local_file(*_files(info))


def is_local(info: catalog.DatasetInfo) -> bool:
    """Whether points and constraints are in the local folder."""
    return local_points(info) is not None and local_file(f"{_folder(info)}/constraints") is not None


def _load(info: catalog.DatasetInfo) -> catalog.Dataset:
    """Points as published, from the local folder or an original place, and what classes there are.

    One source is tried after the other; what is downloaded must be the published data.
    """
    labels = local_file(f"{_folder(info)}/{info.name}.labels.txt") if info.set == 1 else None
    y: NDArray[np.int64] | None = None
    if labels is not None:
        y = read_table(labels, format="csv", header=False, label=False).X[:, 0].astype(np.int64)
        if len(y) != info.n_points:
            raise InvalidInputError(f"{labels}: found {len(y)} classes, expected {info.n_points}.")
    path = local_points(info)
    if path is not None:
        X, classes = _read(info, path)
        place = path.parent if path.suffix == ".png" else path
        return _checked(info, X, classes if y is None else y, str(place), local=True)
    reasons: list[str] = []
    for remotes, parse in (sources := _sources(info)):
        try:
            X, classes = parse([fetch(remote) for remote in remotes], remotes[0].url)
            found = _checked(info, X, classes, remotes[0].url, local=False)
            return found if y is None else replace(found, y=y)
        except DataNotFoundError as error:
            reasons.append(str(error))
        except InvalidInputError as error:
            for remote in remotes:
                discard(remote)
            reasons.append(str(error))
    every = [remote for source in sources for remote in source.remotes]
    raise not_found(f"The data set {info.name}", _files(info)[0], every, reasons)


def _read(info: catalog.DatasetInfo, path: Path) -> Arrays:
    """Points and classes of a file in the local folder, or of a table that was downloaded."""
    if info.name == "gene" and path.name == "data.csv":
        return originals.parse_gene_csv(read_bytes(path), path), None
    if path.suffix == ".png":
        names = [f"{sheet}.png" for sheet in originals.CIFAR_SHEETS]
        names += ["test_lables.json", "train_lables.json"]
        parts = {file: read_bytes(path.parent / file) for file in names}
        return originals.parse_cifar_sheets(parts, path.parent)
    table = read_table(path, label="class") if info.set == 3 else read_table(path)
    if info.set == 1:
        return table.X, None
    y = table.labels
    if y is None:
        raise InvalidInputError(f"{path}: there is no array y of classes, expected X and y.")
    return table.X, y if y.dtype.kind == "i" else np.unique(y, return_inverse=True)[1]


def _sources(info: catalog.DatasetInfo) -> list[_Source]:
    """The original places of a data set, the first one first."""
    name = info.name

    def unpacked(parse: Callable[[dict[str, bytes], str], Arrays], *remotes: Remote) -> _Source:
        """An archive whose files `parse` takes by name."""

        members = originals.archive_members
        return _Source(remotes, lambda paths, at: parse(members(read_bytes(paths[0]), at), at))

    def text(files: dict[str, bytes], place: str) -> Arrays:
        content = originals.member(files, f"{name}.txt", place)
        return read_arrays(content, place, "text")[0], None

    def keel(files: dict[str, bytes], place: str) -> Arrays:
        return originals.parse_keel(originals.member(files, f"{name}.dat", place), place)

    def gene(files: dict[str, bytes], place: str) -> Arrays:
        inner = next((data for file, data in files.items() if file.endswith(".tar.gz")), None)
        files = files if inner is None else originals.archive_members(inner, place)
        return originals.parse_gene_csv(originals.member(files, "data.csv", place), place), None

    def mnist(paths: list[Path], place: str) -> Arrays:
        return originals.parse_mnist({path.name: read_bytes(path) for path in paths}, place)

    if info.set == 1:
        found = [unpacked(text, Remote("pc-sos-sdp", f"datasets/{name}.zip"))]
        return [*found, unpacked(gene, _GENE_UCI)] if name == "gene" else found
    if info.set == 3:
        remote = Remote("s_mdeclust", f"{_SYNTHETIC.format(info)}_data.csv")
        return [_Source((remote,), lambda paths, place: _read(info, paths[0]))]
    if name == "mnist":
        return [
            _Source(tuple(Remote(o, file, md5) for file, md5 in _MNIST_HASHES.items()), mnist)
            for o in ("mnist", "mnist-original")
        ]
    if name == "cifar10":
        return [unpacked(originals.parse_cifar_binary, _CIFAR_BINARY)]
    return [unpacked(keel, Remote("keel", f"{name}.zip"))]


def _checked(
    info: catalog.DatasetInfo,
    X: NDArray[Any],
    y: NDArray[np.int64] | None,
    source: str,
    local: bool,
) -> catalog.Dataset:
    """Compare with the published data: a local copy may differ with a warning, a download not."""
    if X.shape != (info.n_points, info.n_features):
        raise InvalidInputError(
            f"{source}: the points of {info.name} have shape {X.shape}, expected "
            f"({info.n_points}, {info.n_features})."
        )
    if y is not None and len(y) != len(X):
        raise InvalidInputError(f"{source}: there are {len(y)} classes for {len(X)} points.")
    found = {f"{info.name}/X": catalog.digest_points(X)}
    if y is not None:
        found[f"{info.name}/y"] = catalog.digest_classes(y)
    for key, digest in found.items():
        if local:
            _warn_unless_equal(digest, key, source)
        elif catalog.known_digests().get(key, digest) != digest:
            raise InvalidInputError(f"{source}: the content is not the published {info.name}.")
    return catalog.Dataset(info.name, X, y, info.n_clusters, source)


def _warn_unless_equal(digest: str, key: str, source: str) -> None:
    if catalog.known_digests().get(key, digest) != digest:
        warnings.warn(
            f"{source} is not the published {key}: results cannot be compared with the paper's.",
            stacklevel=3,
        )

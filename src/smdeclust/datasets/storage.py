"""Where the files are: a local folder, the user's cache, or the original public places.

``SMDECLUST_DATA`` names a folder laid out as ``set1/<name>/...``, ``set2/...``, ``set3/...``.
``SMDECLUST_CACHE`` may name another folder for downloads than the user's cache.
"""

import logging
import os
import textwrap
from dataclasses import dataclass
from pathlib import Path

from smdeclust.exceptions import DataNotFoundError
from smdeclust.extras import optional

logger = logging.getLogger(__name__)

DATA_VARIABLE = "SMDECLUST_DATA"
CACHE_VARIABLE = "SMDECLUST_CACHE"

# The original places. The first is pinned to a commit; what the others serve is checked by content.
ORIGINS = {
    "pc-sos-sdp": (
        "https://raw.githubusercontent.com/antoniosudoso/pc-sos-sdp/"
        "52bfaebfd861aba3ccf06ebbc647b5b7cf9b71ff/"
    ),
    "s_mdeclust": "https://raw.githubusercontent.com/pierlumanzu/s_mdeclust/HEAD/Data/",
    # where the preparation scripts of phil85/PCCC-Data take banana, letter, shuttle and mnist from
    "keel": "https://sci2s.ugr.es/keel/dataset/data/classification/",
    "mnist": "https://ossci-datasets.s3.amazonaws.com/mnist/",
    "mnist-original": "http://yann.lecun.com/exdb/mnist/",
    "toronto": "https://www.cs.toronto.edu/~kriz/",
    "uci": "https://archive.ics.uci.edu/static/public/",
}


@dataclass(frozen=True)
class Remote:
    """One file at an original place, a path below a key of ``ORIGINS``.

    `known_hash` is ``sha256:...`` or ``md5:...`` of the file as published, None where it is not
    known; the parsed content is checked in any case.
    """

    origin: str
    path: str
    known_hash: str | None = None

    @property
    def url(self) -> str:
        """Full address."""
        return ORIGINS[self.origin] + self.path


def local_file(*relative: str) -> Path | None:
    """Return the first of the given paths that exists below ``SMDECLUST_DATA``, else None."""
    folder = os.environ.get(DATA_VARIABLE)
    if not folder:
        return None
    return next((path for path in (Path(folder, name) for name in relative) if path.exists()), None)


def cache_folder() -> Path:
    """Return the folder that downloads go to."""
    given = os.environ.get(CACHE_VARIABLE)
    if given:
        return Path(given)
    with optional("Downloading a data set"):
        import pooch

    return Path(pooch.os_cache("smdeclust"))


def fetch(remote: Remote) -> Path:
    """The cached copy of a file, downloaded first if there is none, or a DataNotFoundError."""
    with optional("Downloading a data set"):
        import pooch

    pooch.get_logger().setLevel("WARNING")  # this module says it, and only to who listens
    name = f"{remote.origin}/{remote.path}"
    target = cache_folder() / name
    if not target.exists():
        logger.info("downloading %s to %s", remote.url, target)
    try:
        found = pooch.retrieve(
            remote.url,
            known_hash=remote.known_hash,
            fname=target.name,
            path=target.parent,
            downloader=pooch.HTTPDownloader(timeout=60),
        )
    # pooch: ValueError on a wrong hash; below it requests, urllib3 and the file system
    except Exception as error:
        why = textwrap.shorten(str(error), 200, placeholder="...") or type(error).__name__
        raise DataNotFoundError(f"{remote.url} could not be downloaded ({why}).") from error
    return Path(found)


def discard(remote: Remote) -> None:
    """Remove the cached copy of a file whose content proved wrong, so that it is fetched again."""
    (cache_folder() / remote.origin / remote.path).unlink(missing_ok=True)


def not_found(
    what: str, files: str, remotes: list[Remote], reasons: list[str]
) -> DataNotFoundError:
    """Build the error for data that are nowhere: what, where it comes from, what to do."""
    folder = os.environ.get(DATA_VARIABLE)
    looked = f"not in {folder} ({DATA_VARIABLE})" if folder else f"{DATA_VARIABLE} is not set"
    places = ", ".join(remote.url for remote in remotes) or "no public place is known"
    tried = " ".join(reasons)
    return DataNotFoundError(
        f"{what} was not found: {files} is missing ({looked}). It comes from {places}. {tried} "
        f"Go online, or set {DATA_VARIABLE} to a folder that holds {files}."
    )

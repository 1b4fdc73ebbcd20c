"""The former name of :mod:`smdeclust.paper`, kept for one version."""

import warnings

from smdeclust.paper import *  # noqa: F403
from smdeclust.paper import __all__ as __all__

warnings.warn(
    "smdeclust.experiments is now smdeclust.paper; the old name is removed in 0.4.",
    FutureWarning,
    stacklevel=2,
)

"""``fit --certify``: how far from the best possible the clustering is at most."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from smdeclust.cli import methods
from smdeclust.cli.certify import as_bytes
from smdeclust.cli.options import Inputs
from smdeclust.cli.patience import Patience

# Seconds for the proof where --max-time sets no limit.
_SECONDS = 60.0


@dataclass(frozen=True)
class FitProof:
    """What was proven, for ``result.json``, and the certificate as a file; None without one."""

    document: dict[str, Any]
    content: bytes | None = None


def prove_fit(
    inputs: Inputs, run: methods.Run, chosen: dict[str, Any], patience: Patience, update: Any
) -> FitProof:
    """Certify the clustering of a fit, or say why that cannot be done.

    Sizes that differ between clusters count by their extremes.
    """
    if run.n_broken:
        return FitProof({"sentence": "not certified: it breaks pairs"})
    if inputs.constraints.n_soft:
        return FitProof({"sentence": "not certified: proofs are about hard pairs only"})
    from smdeclust.exact import certify
    from smdeclust.exact.certificate import above_best

    update("proving how good it is")
    left = patience.left(_SECONDS) if patience.left() is None else patience.left()
    certificate = certify(
        inputs.X,
        run.labels,
        must_link=inputs.constraints.must_link,
        cannot_link=inputs.constraints.cannot_link,
        max_time=left,
        progress=update,
        size_min=_extreme(min, chosen.get("size_min")),
        size_max=_extreme(max, chosen.get("size_max")),
    )
    document = {
        "sentence": above_best(run.objective, certificate.lower_bound),
        "status": certificate.status,
        "lower_bound": certificate.lower_bound,
        "better_found": certificate.improved,
        "seconds": certificate.seconds,
    }
    return FitProof(document, as_bytes(certificate))


def _extreme(which: Any, sizes: int | list[int] | None) -> int | None:
    return which(sizes) if isinstance(sizes, list) else sizes

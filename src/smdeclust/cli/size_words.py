"""Which bounds on cluster sizes are tight, in words."""

from __future__ import annotations

from typing import Any

# Clusters that are named; the rest are counted.
_NAMED = 8


def tight_words(result: dict[str, Any]) -> str:
    """The clusters at their least or largest size; empty where no bounds were given."""
    if "size_bounds" not in result:
        return ""
    least, largest = [], []
    for cluster, (size, (low, high)) in enumerate(
        zip(result["cluster_sizes"], result["size_bounds"], strict=True)
    ):
        if size == low:
            least.append(cluster)
        elif size == high:
            largest.append(cluster)
    parts = []
    for clusters, end in ((least, "least"), (largest, "largest")):
        if clusters:
            named = ", ".join(map(str, clusters[:_NAMED]))
            more = f" and {len(clusters) - _NAMED} more" if len(clusters) > _NAMED else ""
            parts.append(f"at the {end} size: {named}{more}")
    return "; ".join(parts) or "none is tight"

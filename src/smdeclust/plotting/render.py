"""A picture as the bytes of a file, drawn without a display."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

# What a file has of its own, left out so that the same content gives the same bytes.
_NO_DATE: dict[str, Any] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}


def render(
    draw: Callable[..., Any], *arguments: Any, format: str = "png", dpi: int = 150, **options: Any
) -> bytes:
    """Call one of the plot functions; return its picture as ``png``, ``svg`` or ``pdf``."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    with matplotlib.rc_context({"svg.hashsalt": "smdeclust", "svg.fonttype": "path"}):
        figure = draw(*arguments, **options).get_figure(root=True)
        try:
            buffer = io.BytesIO()
            figure.savefig(buffer, format=format, dpi=dpi, metadata=_NO_DATE.get(format))
            return buffer.getvalue()
        finally:
            plt.close(figure)

"""Pictures as bytes, drawn without a display."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from typing import Any

FORMATS = ("png", "svg", "pdf")


def prepare() -> None:
    """Choose the backend that needs no display, before anything is drawn."""
    os.environ.setdefault("MPLBACKEND", "Agg")
    import matplotlib

    matplotlib.use("Agg")


def render(
    draw: Callable[..., Any], *arguments: Any, format: str = "png", dpi: int = 150, **options: Any
) -> bytes:
    """Draw and return the picture's bytes; the same input gives the same bytes."""
    prepare()
    import matplotlib
    from matplotlib import pyplot as plt

    with matplotlib.rc_context({"svg.hashsalt": "smdeclust", "svg.fonttype": "path"}):
        ax = draw(*arguments, **options)
        figure = ax.get_figure(root=True)
        try:
            buffer = io.BytesIO()
            metadata = {"Date": None} if format == "svg" else None
            if format == "pdf":
                metadata = {"CreationDate": None}
            figure.savefig(buffer, format=format, dpi=dpi, metadata=metadata)
            return buffer.getvalue()
        finally:
            plt.close(figure)

"""PyTorch and its devices, or errors that say what is wrong with them."""

from __future__ import annotations

from typing import Any

from smdeclust.exceptions import InvalidInputError, SMDEClustError
from smdeclust.extras import optional


class DeviceMemoryError(SMDEClustError, MemoryError):
    """The data do not fit on the device."""


def import_torch() -> Any:
    """PyTorch, or an error that says how to get it."""
    with optional("device"):
        import torch
    return torch


def usable_device(torch: Any, device: str) -> Any:
    """The device of that name, tried out."""
    try:
        found = torch.device(device)
        torch.zeros(1, device=found)
    except (RuntimeError, AssertionError, TypeError) as error:
        first = str(error).split("\n")[0]
        raise InvalidInputError(f"device={device!r} cannot be used: {first}.") from None
    return found

"""Ways of seeing the points; which of them knowledge that was held out speaks for."""

from smdeclust.views.held_out import Fold, HeldOut, folds

__all__ = ["Fold", "HeldOut", "folds"]

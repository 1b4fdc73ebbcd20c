"""scikit-learn faces of all methods; the only place where strings become objects."""

from smdeclust.estimators.smdeclust import SMDEClust

__all__ = ["SMDEClust"]

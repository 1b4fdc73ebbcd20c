"""Tables as people have them: the roles of columns, and coordinates made of them.

`TableFeatures` is in ``smdeclust.tables.features`` (``from smdeclust import TableFeatures``): with
it comes scikit-learn, which reading a file does not need.
"""

from smdeclust.tables.roles import ROLES, guess_roles

__all__ = ["ROLES", "guess_roles"]

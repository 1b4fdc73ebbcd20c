"""Tables as people have them: the roles of columns, and coordinates made of them."""

from smdeclust.tables.features import TableFeatures
from smdeclust.tables.roles import ROLES, guess_roles

__all__ = ["ROLES", "TableFeatures", "guess_roles"]

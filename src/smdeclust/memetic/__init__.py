"""S-MDEClust: Algorithm 1 in `algorithm`, and its operators, one a file."""

from smdeclust.memetic.algorithm import Operators, evolve
from smdeclust.memetic.population import State

__all__ = ["Operators", "State", "evolve"]

"""S-MDEClust: Algorithm 1 in `algorithm`, its steps in `operators` and `rules`."""

from smdeclust.memetic.algorithm import Operators, evolve
from smdeclust.memetic.islands import Islands, evolve_islands
from smdeclust.memetic.population import State

__all__ = ["Islands", "Operators", "State", "evolve", "evolve_islands"]

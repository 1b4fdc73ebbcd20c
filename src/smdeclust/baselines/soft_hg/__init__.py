"""S-HG-MEANS (Gribel, Gendreau, Vidal 2022): soft, memetic. `genetic` is the loop."""

from smdeclust.baselines.soft_hg.genetic import soft_hg_means
from smdeclust.baselines.soft_hg.model import Model

__all__ = ["Model", "soft_hg_means"]

"""The paper's experiments: plan, run (resumable), store, tables and figures."""

from smdeclust.experiments.api import PaperResult, report, run_paper, run_plans
from smdeclust.experiments.data import Instance
from smdeclust.experiments.methods import METHODS
from smdeclust.experiments.paper import EXPERIMENTS, SCALES, paper_plan
from smdeclust.experiments.plan import Data, Method, Part, Plan, Run, Skipped
from smdeclust.experiments.runner import run_all
from smdeclust.experiments.store import Outcome, Store

__all__ = [
    "EXPERIMENTS",
    "METHODS",
    "SCALES",
    "Data",
    "Instance",
    "Method",
    "Outcome",
    "PaperResult",
    "Part",
    "Plan",
    "Run",
    "Skipped",
    "Store",
    "paper_plan",
    "report",
    "run_all",
    "run_paper",
    "run_plans",
]

"""Run the experiments of Mansueto and Schoen (2024), or your own, and report the results.

A plan lists what to run (`plan`, `paper`). `runner` executes it in several processes, and stores
the result of each run in an SQLite file (`store`). `tables`, `claims` and `report` read this file.

This runs an experiment of the paper, and then compares your own method with the default::

    from smdeclust.paper import METHODS, Data, Method, Part, Plan, run_paper, run_plans

    run_paper(["exact"], scale="small", out="results")

    # in mymethods.py: def fast(n_clusters, seed, n_init): return MyEstimator(...)
    mine = Method("mine", "mymethods:fast", {"n_init": 50})
    # in mydata.py: def load(name, configuration): return Instance(X, n_clusters, ml, cl, y)
    data = Data("animals", ("few", "many"), "mydata:load")
    part = Part((METHODS["SMDEClust"], mine), (data,), seeds=(0, 1, 2), time_limit=60)
    run_plans([Plan("animals", "My comparison", (part,))], out="my-results")
"""

from smdeclust.paper.api import PaperResult, run_paper, run_plans
from smdeclust.paper.data import Instance
from smdeclust.paper.methods import METHODS
from smdeclust.paper.paper import EXPERIMENTS, SCALES, paper_plan
from smdeclust.paper.plan import Data, Method, Part, Plan, Run, Skipped
from smdeclust.paper.report import report
from smdeclust.paper.runner import run_all
from smdeclust.paper.store import Outcome, Store

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

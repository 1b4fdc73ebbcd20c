"""The paper's experiments: plan, run (resumable), store, tables and figures.

A plan is data (`plan`, `paper`); `runner` carries its runs out in processes and writes a row for
each to an SQLite file (`store`); `tables`, `claims` and `report` read those rows.

To run the paper again, or one's own method beside the paper's::

    from smdeclust.paper import METHODS, Data, Method, Part, Plan, run_paper, run_plans

    run_paper(["exact"], scale="small", out="results")

    mine = Method("mine", "mymethods:fast", {"n_init": 50})       # see `methods`
    data = Data("animals", ("few", "many"), "mydata:load")        # see `data`
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

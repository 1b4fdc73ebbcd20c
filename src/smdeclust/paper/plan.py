"""What is to be run, as data: methods, data sets, configurations, seeds, limits.

A `Plan` is a list of parts; each part is the product of methods, data sets, configurations and
seeds. Nothing here computes: a plan can be printed, stored and compared.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self

import smdeclust

NO_PAIRS = "none"


@dataclass(frozen=True)
class Method:
    """A clustering method with its settings.

    Attributes
    ----------
    name
        The name in tables and figures.
    factory
        The function that makes the estimator, as ``"module:function"``. It is called as
        ``function(n_clusters, seed, **settings)``, and returns an estimator with
        ``fit(X, must_link=..., cannot_link=...)`` and ``labels_``.
    settings
        Keyword arguments for the function: numbers, strings, booleans, lists or None.
    """

    name: str
    factory: str
    settings: Mapping[str, Any] = field(default_factory=dict)

    def but(self, name: str, **settings: Any) -> Self:
        """Return the same method with another name and other settings."""
        return replace(self, name=name, settings={**self.settings, **settings})


@dataclass(frozen=True)
class Data:
    """A data set with its configurations of pairs.

    Attributes
    ----------
    name
        The name in tables.
    configurations
        The names of the configurations. Each is one set of pairs.
    loader
        The function that loads the data, as ``"module:function"``. It is called as
        ``function(name, configuration)``, and returns an `Instance`. The configuration ``"none"``
        must have no pairs.
    """

    name: str
    configurations: tuple[str, ...]
    loader: str = "smdeclust.paper.data:paper_instance"


@dataclass(frozen=True)
class Run:
    """A single fit: one method with one seed on one configuration of a data set."""

    method: Method
    dataset: str
    loader: str
    configuration: str
    seed: int
    count: tuple[str, ...] = ()  # configurations whose broken pairs are counted: without pairs
    time_limit: float | None = None  # seconds for `fit`, then its process ends; None: no limit

    @property
    def key(self) -> str:
        """Identity of the run in the store: everything that determines its result, including the
        version of the library. Two experiments that need the same run share it."""
        identity = {
            "factory": self.method.factory,
            "settings": dict(self.method.settings),
            "dataset": self.dataset,
            "loader": self.loader,
            "configuration": self.configuration,
            "count": list(self.count),
            "seed": self.seed,
            "version": smdeclust.__version__,
        }
        text = json.dumps(identity, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    def __str__(self) -> str:
        return f"{self.method.name} on {self.dataset}/{self.configuration}, seed {self.seed}"


@dataclass(frozen=True)
class Part:
    """Every combination of some methods, configurations and seeds.

    Attributes
    ----------
    methods, data, seeds
        What is combined.
    time_limit
        The limit for one run, in seconds. None means no limit.
    priority
        Parts with lower numbers are run first, in all plans together.
    unconstrained
        Whether to run each method without pairs, once for each data set and seed. The result is
        the number of pairs that it breaks in each configuration.
    reference
        Whether the methods serve only as a reference and are not ranked.
    """

    methods: tuple[Method, ...]
    data: tuple[Data, ...]
    seeds: tuple[int, ...]
    time_limit: float | None = None
    priority: int = 0
    unconstrained: bool = False
    reference: bool = False

    def runs(self) -> list[Run]:
        """Return all runs of this part, ordered by data set."""
        # the configuration of each run, and those whose broken pairs it counts
        cases: list[tuple[Data, str, tuple[str, ...]]] = [
            (data, configuration, data.configurations if self.unconstrained else ())
            for data in self.data
            for configuration in ((NO_PAIRS,) if self.unconstrained else data.configurations)
        ]
        return [
            Run(method, data.name, data.loader, configuration, seed, count, self.time_limit)
            for data, configuration, count in cases
            for method in self.methods
            for seed in self.seeds
        ]


@dataclass(frozen=True)
class Skipped:
    """A part of the paper's experiment that the plan leaves out, and the reason."""

    what: str
    reason: str


@dataclass(frozen=True)
class Plan:
    """An experiment: what to run, and what to leave out.

    Attributes
    ----------
    name
        A short name, such as the one to pass to ``--experiment``.
    title
        The heading in the report.
    parts
        The parts, which contain the runs.
    skipped
        What the plan leaves out of the paper's experiment, with reasons.
    """

    name: str
    title: str
    parts: tuple[Part, ...]
    skipped: tuple[Skipped, ...] = ()

    def runs(self) -> list[Run]:
        """Return all runs in the order of the parts, without duplicates."""
        return list({run.key: run for part in self.parts for run in part.runs()}.values())

    def compared_runs(self) -> list[Run]:
        """Return the runs of all methods except references."""
        return replace(self, parts=tuple(p for p in self.parts if not p.reference)).runs()

    def methods(self) -> list[str]:
        """Return the names of all methods except references."""
        compared = [part for part in self.parts if not part.reference]
        return list(dict.fromkeys(method.name for part in compared for method in part.methods))

    def to_json(self) -> str:
        """Return the plan as JSON text."""
        return json.dumps(asdict(self), sort_keys=True)

    @staticmethod
    def from_json(text: str) -> "Plan":
        """Read a plan from the text that `to_json` returns."""
        raw = json.loads(text)
        for part in raw["parts"]:
            part["methods"] = tuple(Method(**method) for method in part["methods"])
            part["data"] = tuple(
                Data(**d | {"configurations": tuple(d["configurations"])}) for d in part["data"]
            )
            part["seeds"] = tuple(part["seeds"])
        raw["parts"] = tuple(Part(**part) for part in raw["parts"])
        return Plan(**raw | {"skipped": tuple(Skipped(**item) for item in raw["skipped"])})


def in_order(plans: Iterable[Plan]) -> list[Run]:
    """The runs of several plans, each once, parts of lower priority numbers first."""
    parts = sorted((part for plan in plans for part in plan.parts), key=lambda part: part.priority)
    return list({run.key: run for part in parts for run in part.runs()}.values())

"""What is to be run, as data: methods, data sets, configurations, seeds, limits.

A `Plan` is a list of parts; each part is the product of methods, data sets, configurations and
seeds. Nothing here computes: a plan can be printed, stored and compared.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import smdeclust

NO_PAIRS = "none"


@dataclass(frozen=True)
class Method:
    """A clustering method under one setting.

    Attributes
    ----------
    name
        What tables and figures call it.
    factory
        ``"module:function"``, importable wherever the package is. It is called as
        ``function(n_clusters, seed, **settings)`` and returns an estimator with
        ``fit(X, must_link=..., cannot_link=...)`` and ``labels_``.
    settings
        Keyword arguments of the factory: numbers, strings, booleans, lists or None.
    """

    name: str
    factory: str
    settings: Mapping[str, Any] = field(default_factory=dict)

    def but(self, name: str, **settings: Any) -> Method:
        """The same method under another name and with these settings changed."""
        return replace(self, name=name, settings={**self.settings, **settings})


@dataclass(frozen=True)
class Data:
    """A data set with its constraint configurations.

    Attributes
    ----------
    name
        What tables call it.
    configurations
        Names of its configurations, each one instance of the problem.
    loader
        ``"module:function"``, called as ``function(name, configuration)``; returns an
        `smdeclust.paper.Instance`. The configuration ``"none"`` has no pairs.
    """

    name: str
    configurations: tuple[str, ...]
    loader: str = "smdeclust.paper.data:paper_instance"


@dataclass(frozen=True)
class Run:
    """One call of ``fit``: a method with a seed on one configuration of a data set."""

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
    """The product of methods, data sets (with their configurations) and seeds.

    Attributes
    ----------
    methods, data, seeds
        The factors.
    time_limit
        Seconds for one run; None for no limit.
    priority
        Parts with lower numbers are run first, across all plans.
    unconstrained
        One run per data set and seed, without pairs; the broken pairs of every configuration are
        counted instead.
    reference
        Whether its methods are only a reference for the others, outside the ranking.
    """

    methods: tuple[Method, ...]
    data: tuple[Data, ...]
    seeds: tuple[int, ...]
    time_limit: float | None = None
    priority: int = 0
    unconstrained: bool = False
    reference: bool = False

    def runs(self) -> list[Run]:
        """All runs of this part, data set by data set."""
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
    """Something that is in the paper and not in this plan."""

    what: str
    reason: str


@dataclass(frozen=True)
class Plan:
    """One experiment at one scale.

    Attributes
    ----------
    name
        Short name, for ``--experiment``.
    title
        A heading.
    parts
        What is run.
    skipped
        What is left out of the paper's experiment, and why.
    """

    name: str
    title: str
    parts: tuple[Part, ...]
    skipped: tuple[Skipped, ...] = ()

    def runs(self) -> list[Run]:
        """All runs, each once, in the order of the parts."""
        return list({run.key: run for part in self.parts for run in part.runs()}.values())

    def compared_runs(self) -> list[Run]:
        """The runs of methods that are compared with each other."""
        return replace(self, parts=tuple(p for p in self.parts if not p.reference)).runs()

    def methods(self) -> list[str]:
        """Names of the methods that are compared, each once, in order."""
        compared = [part for part in self.parts if not part.reference]
        return list(dict.fromkeys(method.name for part in compared for method in part.methods))

    def to_json(self) -> str:
        """The plan as text; `from_json` reads it."""
        return json.dumps(asdict(self), sort_keys=True)

    @staticmethod
    def from_json(text: str) -> Plan:
        """Read what `to_json` wrote."""
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

"""Methods and data for the tests, importable from worker processes."""

from __future__ import annotations

import os
import time
from typing import Any

import numpy as np

from smdeclust.exceptions import NoFeasibleSolutionError
from smdeclust.paper import Data, Instance, Method, Part, Plan

N_POINTS = 12


def load(name: str, configuration: str) -> Instance:
    """Two clusters of six points on a line; configuration ``m`` has a few pairs."""
    X = np.concatenate([np.arange(6.0), 100.0 + np.arange(6.0)])[:, None]
    pairs = np.empty((0, 2), dtype=np.int64)
    if configuration == "none":
        return Instance(X, 2, pairs, pairs, np.repeat([0, 1], 6))
    return Instance(X, 2, np.array([[0, 1]]), np.array([[0, 6]]), np.repeat([0, 1], 6))


class Toy:
    """Labels the halves; `behaviour` says what happens on the way."""

    def __init__(
        self, n_clusters: int, seed: int, behaviour: str = "", pause: float = 0.0, log: str = ""
    ) -> None:
        self.seed, self.behaviour, self.pause, self.log = seed, behaviour, pause, log

    def fit(self, X: Any, must_link: Any = None, cannot_link: Any = None) -> Toy:
        if len(X) != N_POINTS:  # the warm-up
            return self
        if self.log:
            with open(self.log, "a") as stream:
                stream.write(f"{self.seed}\n")
        time.sleep(self.pause)
        if self.behaviour == "fail":
            raise ValueError("no such luck")
        if self.behaviour == "give up":
            raise NoFeasibleSolutionError("tried all I know")
        if self.behaviour == "die":
            os._exit(3)
        self.labels_ = np.repeat([0, 1], N_POINTS // 2)
        if self.behaviour == "break":
            self.labels_[1] = 1
        self.n_local_searches_, self.n_local_iterations_ = 1, 5 + self.seed
        return self


def method(name: str = "toy", **settings: Any) -> Method:
    """A toy method for a plan."""
    return Method(name, "tests.paper.toy:Toy", settings)


def data(*configurations: str) -> Data:
    """The toy data for a plan."""
    return Data("line", configurations or ("a",), "tests.paper.toy:load")


def plan(*methods: Method, seeds: int = 1, limit: float | None = None) -> Plan:
    """A plan of toys on the toy data."""
    part = Part(methods or (method(),), (data(),), tuple(range(seeds)), limit)
    return Plan("toys", "Toys", (part,))


def run_forever(folder: str) -> None:
    """What the test of a killed process starts: twelve runs of a third of a second."""
    from smdeclust.paper import run_plans

    log = os.path.join(folder, "log.txt")
    slow = method("slow", pause=0.3, log=log)
    run_plans([plan(slow, seeds=12)], out=folder, jobs=2, progress=False)

"""Pairs that contradict each other, and the error that explains why.

Must-links join rows 0 to 3, but a cannot-link separates rows 0 and 3. The plot shows groups of
must-linked points and marks the contradictory group.
"""

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from smdeclust import InfeasibleConstraintsError, SMDEClust
from smdeclust.plotting import plot_constraint_graph

X = np.random.default_rng(0).normal(size=(30, 2))
must_link = [(0, 1), (1, 2), (2, 3), (10, 11), (20, 21), (21, 22)]
cannot_link = [(10, 20), (4, 10), (4, 20), (5, 22), (0, 3)]

try:
    SMDEClust(n_clusters=3).fit(X, must_link=must_link, cannot_link=cannot_link)
except InfeasibleConstraintsError as error:
    print(error)
    print("reason: ", error.reason)
    print("details:", error.details)

figure, ax = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
plot_constraint_graph(30, must_link=must_link, cannot_link=cannot_link, ax=ax)
figure.savefig("contradictions.png", dpi=110)

cannot_link.remove((0, 3))  # the pair named in the error
model = SMDEClust(n_clusters=3, random_state=0)
model.fit(X, must_link=must_link, cannot_link=cannot_link)
print(f"without that pair: {model.inertia_:.2f}")

"""How a run proceeds: the population converges, and its diversity falls.

SMDEClust calls the callback with its state after every local search. After the fit, the arrays in
`history_` have one entry for each generation.
"""

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from smdeclust import SMDEClust
from smdeclust.datasets import make_constraints, make_synthetic
from smdeclust.plotting import plot_convergence, plot_diversity

data = make_synthetic(400, 10, random_state=10)
pairs = make_constraints(data.y, 150, random_state=10)
seen = []
model = SMDEClust.from_paper(
    "SMG-MDE",
    n_clusters=10,
    random_state=0,
    callback=lambda state: seen.append(state.best.objective),
)
model.fit(data.X, must_link=pairs.must_link, cannot_link=pairs.cannot_link)
print(f"stopped by {model.stop_reason_} after {model.n_iter_} generations")
print(f"{len(seen)} local searches, from {seen[0]:.2f} to {seen[-1]:.2f}")

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
plot_convergence(model.history_, ax=left)
plot_diversity(model.history_, tol=model.search.tol, ax=right)
figure.savefig("watch_a_run.png", dpi=110)

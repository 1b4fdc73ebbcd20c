"""Several methods on the same data: objective, agreement with the classes, and time.

Hatched bars mark methods that break pairs. You cannot compare their objectives with those of the
other methods.
"""

import time

import matplotlib

matplotlib.use("Agg")
from sklearn.metrics import adjusted_rand_score

import smdeclust
from smdeclust import NoFeasibleSolutionError, Problem
from smdeclust.datasets import make_constraints, make_synthetic
from smdeclust.plotting import plot_comparison

data = make_synthetic(200, 6, cluster_std=2.5, random_state=9)
pairs = make_constraints(data.y, 120, random_state=9)
links = {"must_link": pairs.must_link, "cannot_link": pairs.cannot_link}
problem = Problem.build(data.X, 6, **links)

results = {}
for name in ("SMDEClust", "BLPKMeans", "COPKMeans", "PCKMeans", "SoftHGMeans"):
    options = {"max_generations": 10} if name == "SoftHGMeans" else {}
    rows = {"objective": [], "ari": [], "time": [], "violations": []}
    for seed in (0, 0, 1, 2):  # the first run loads compiled code and is not counted
        model = getattr(smdeclust, name)(n_clusters=6, random_state=seed, **options)
        start = time.perf_counter()
        try:
            labels = model.fit(data.X, **links).labels_
        except NoFeasibleSolutionError:
            continue
        rows["time"].append(time.perf_counter() - start)
        rows["objective"].append(model.inertia_)
        rows["ari"].append(adjusted_rand_score(data.y, labels))
        rows["violations"].append(sum(problem.violations(labels)))
    results[name] = {key: values[1:] or [float("nan")] for key, values in rows.items()}
    print(f"{name:12s} objective {min(results[name]['objective']):.3f}")

ax = plot_comparison(results)
ax.figure.savefig("compare_methods.png", dpi=110, bbox_inches="tight")

"""Which clusters do you have in mind: round ones, long ones, or classes of several parts?

Both methods get the same few pairs. SMDEClust looks for round clusters. GuidedClustering clusters
the points in several ways and gives the most weight to those that agree with held-out pairs.
"""

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs, make_moons
from sklearn.metrics import adjusted_rand_score

from smdeclust import GuidedClustering, SMDEClust
from smdeclust.datasets import make_constraints
from smdeclust.plotting import plot_clusters

corners = np.array([[0, 0], [4, 4], [0, 4], [4, 0]])
points, part = make_blobs(160, centers=corners, cluster_std=0.6, random_state=0)
shapes = {
    "round": make_blobs(160, centers=corners[:2], cluster_std=1.2, random_state=0),
    "long": make_moons(160, noise=0.07, random_state=0),
    "several parts": (points, part // 2),
}
figure, axes = plt.subplots(2, 3, figsize=(11, 6.5), layout="constrained")
for (name, (X, y)), column in zip(shapes.items(), axes.T, strict=True):
    pairs = make_constraints(y, 24, random_state=0)
    links = {"must_link": pairs.must_link, "cannot_link": pairs.cannot_link}
    plain = SMDEClust(2, random_state=0).fit(X, **links)
    guided = GuidedClustering(2, random_state=0).fit(X, **links)
    for model, ax in zip((plain, guided), column, strict=True):
        agreement = adjusted_rand_score(y, model.labels_)
        plot_clusters(X, model.labels_, ax=ax)
        ax.set_title(f"{name}, {type(model).__name__}: ARI {agreement:.2f}")
    heaviest = max(guided.view_weights_, key=guided.view_weights_.get)
    scores = [adjusted_rand_score(y, model.labels_) for model in (plain, guided)]
    print(f"{name:13s}  SMDEClust {scores[0]:.2f}  guided {scores[1]:.2f}  first view: {heaviest}")
figure.savefig("which_clusters.png", dpi=110)

"""What pairs change: k-means, SMDEClust and GuidedClustering on the same points.

k-means breaks the red pairs. SMDEClust satisfies all pairs with the smallest sum of squares.
GuidedClustering also satisfies all pairs and learns from them what a cluster looks like.
"""

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from smdeclust import GuidedClustering, SMDEClust

X, y = make_moons(240, noise=0.07, random_state=2)
drawn = np.random.default_rng(3).integers(0, len(X), (14, 2))
same = y[drawn[:, 0]] == y[drawn[:, 1]]
pairs = {"must_link": drawn[same], "cannot_link": drawn[~same]}

results = {
    "k-means": SMDEClust(2, random_state=0).fit(X).labels_,
    "SMDEClust": SMDEClust(2, random_state=0).fit(X, **pairs).labels_,
    "GuidedClustering": GuidedClustering(2, random_state=0).fit(X, **pairs).labels_,
}
figure, axes = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
for (name, labels), ax in zip(results.items(), axes, strict=True):
    broken = (labels[drawn[:, 0]] == labels[drawn[:, 1]]) != same
    ax.scatter(*X.T, s=16, c=np.array(["#0173b2", "#e69f00"])[labels], linewidths=0)
    for (i, j), together, is_broken in zip(drawn, same, broken, strict=True):
        color, line = ("#c00000" if is_broken else "black"), ("-" if together else (0, (4, 3)))
        ax.plot(*X[[i, j]].T, color=color, linestyle=line, linewidth=1.6 if is_broken else 1.0)
        ax.scatter(*X[[i, j]].T, s=26, facecolors="none", edgecolors="black", linewidths=1.2)
    said = f"{broken.sum()} of {len(drawn)} pairs broken" if broken.any() else "all pairs satisfied"
    ax.set_title(f"{name}: {said}", fontsize=13)
    ax.set_axis_off()
    print(f"{name}: {said}")
styles = {"must-link": ("black", "-"), "cannot-link": ("black", "--"), "broken": ("#c00000", "-")}
for text, (color, line) in styles.items():
    axes[1].plot([], [], color=color, linestyle=line, label=text)
figure.legend(loc="outside lower center", ncols=3, frameon=False)
figure.savefig("before_after.png", dpi=110)

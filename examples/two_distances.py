"""The same pairs in two distances, and how much each column counts.

The Euclidean distance gives every column the same weight. A learned distance gives a column less
weight if points that belong together differ in it.
"""

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from smdeclust import SMDEClust
from smdeclust.datasets import make_constraints
from smdeclust.plotting import plot_clusters, plot_feature_weights

iris = load_iris()
shuffled = np.random.default_rng(0).permutation(150)
X, y = StandardScaler().fit_transform(iris.data[shuffled]), iris.target[shuffled]
pairs = make_constraints(y, 40, random_state=1)
links = {"must_link": pairs.must_link, "cannot_link": pairs.cannot_link}

figure, axes = plt.subplots(1, 3, figsize=(13, 3.8), layout="constrained")
for metric, ax in zip(("euclidean", "learned"), axes, strict=False):
    model = SMDEClust(3, metric=metric, random_state=0).fit(X, **links)
    agreement = adjusted_rand_score(y, model.labels_)
    print(f"{metric:9s}  agreement with the species {agreement:.3f}")
    plot_clusters(X[:, 2:], model.labels_, ax=ax)
    ax.set_title(f"{metric}: ARI {agreement:.2f}")

for name, weight in zip(iris.feature_names, model.feature_weights_, strict=True):
    print(f"{name:17s}  counts {weight:.2f} (1 on average)")
plot_feature_weights(model, iris.feature_names, ax=axes[2])
figure.savefig("two_distances.png", dpi=110)

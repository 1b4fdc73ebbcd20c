"""A few labeled rows instead of pairs.

Rows of the same class belong together, and rows of different classes do not. Points with a margin
below zero are closer to the center of another cluster, but the labels keep them where they are.
"""

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from sklearn.datasets import load_iris
from sklearn.metrics import adjusted_rand_score

from smdeclust import SMDEClust
from smdeclust.datasets import make_constraints_from_labels
from smdeclust.plotting import plot_margins

X, y = load_iris(return_X_y=True)
for share in (0.0, 0.1, 0.2, 0.4):
    pairs = make_constraints_from_labels(y, share, random_state=1)
    model = SMDEClust(n_clusters=3, random_state=0)
    model.fit(X, must_link=pairs.must_link, cannot_link=pairs.cannot_link)
    print(f"{share:4.0%} of the rows labeled: ARI {adjusted_rand_score(y, model.labels_):.3f}")

figure, ax = plt.subplots(figsize=(6.5, 4.5), layout="constrained")
plot_margins(X, model.labels_, ax=ax)
figure.savefig("few_labels.png", dpi=110)

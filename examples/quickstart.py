"""The same points, clustered without and with pairs.

The clustering without pairs breaks the red pairs. The clustering with pairs satisfies all of them.
"""

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from smdeclust import SMDEClust
from smdeclust.datasets import make_constraints, make_synthetic
from smdeclust.plotting import plot_clusters

data = make_synthetic(150, 3, cluster_std=5.0, random_state=6)
pairs = make_constraints(data.y, 30, random_state=6)
links = {"must_link": pairs.must_link, "cannot_link": pairs.cannot_link}

free = SMDEClust(n_clusters=3, random_state=0).fit(data.X)
kept = SMDEClust(n_clusters=3, random_state=0).fit(data.X, **links)
print(f"without pairs {free.inertia_:.2f}, with pairs {kept.inertia_:.2f}")

figure, axes = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
plot_clusters(data.X, free.labels_, **links, ax=axes[0])
plot_clusters(data.X, kept.labels_, **links, ax=axes[1])
axes[0].set_title(f"without pairs: objective {free.inertia_:.1f}")
axes[1].set_title(f"with pairs: objective {kept.inertia_:.1f}")
figure.savefig("quickstart.png", dpi=110)

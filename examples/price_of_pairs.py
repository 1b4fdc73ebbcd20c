"""What pairs cost, and how they help.

More pairs increase the sum of squares, but the clusters agree better with the true classes. The
adjusted Rand index (ARI) measures this agreement; 1 is perfect.
"""

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from sklearn.datasets import load_iris
from sklearn.metrics import adjusted_rand_score
from sklearn.utils import shuffle

from smdeclust import SMDEClust
from smdeclust.datasets import make_constraints

X, y = shuffle(*load_iris(return_X_y=True), random_state=0)  # the rows are sorted by class
counts = [0, 25, 50, 100, 200, 400]
objectives, scores = [], []
for count in counts:
    pairs = make_constraints(y, count, random_state=0)
    model = SMDEClust(n_clusters=3, random_state=0)
    model.fit(X, must_link=pairs.must_link, cannot_link=pairs.cannot_link)
    objectives.append(model.inertia_)
    scores.append(adjusted_rand_score(y, model.labels_))
    print(f"{count:4d} pairs: objective {objectives[-1]:.2f}, ARI {scores[-1]:.3f}")

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
left.plot(counts, objectives, "o-", color="black")
left.set(xlabel="pairs", ylabel="sum of squares")
right.plot(counts, scores, "s--", color="black")
right.set(xlabel="pairs", ylabel="agreement with the classes (ARI)")
figure.savefig("price_of_pairs.png", dpi=110)

"""Mixed groups: clusters that look like the whole (anticlustering) and satisfy all constraints.

The points of a cluster are usually alike. Teams, school classes and test batches should instead be
similar to each other, so each cluster needs a mix of different points. The exchange method swaps
points of two clusters as long as this makes the clusters more similar and breaks no pair, bound or
quota. (Soft pairs are rejected.)
"""

import numpy as np

from smdeclust import Constraints, SMDEClust
from smdeclust.structure import Structure


def mixed_groups(X, n_groups, known, *, n_starts=10, seed=0, **sizes):
    """Return labels of clusters that differ little, and the sum of squares between them."""
    if len(known.soft_must_link) or len(known.soft_cannot_link):
        raise ValueError(
            "mixed_groups does not accept soft pairs. Make them hard or leave them out."
        )
    rng, n = np.random.default_rng(seed), len(X)
    pairs = known.must_link, known.cannot_link
    structure = Structure.build(n, n_groups, *pairs, quotas=known.quotas, **sizes)
    friends = structure.group_of_point  # points joined by must-links move together
    centered = np.zeros((structure.n_groups, X.shape[1]))
    np.add.at(centered, friends, X - X.mean(axis=0))
    counts = np.bincount(friends).astype(float)

    def between(sums, counts):
        return (sums**2).sum(axis=-1) / np.maximum(counts, 1)

    best, least = None, np.inf
    for _ in range(n_starts):
        # Start from any labels that satisfy the constraints: clusters of random coordinates.
        start = SMDEClust(n_groups, search="quick", random_state=int(rng.integers(2**31)), **sizes)
        labels = structure.group_labels(start.fit_predict(rng.random((n, 1)), constraints=known))
        improved = True
        while improved:
            improved = False
            for i in rng.permutation(len(labels)):
                mine = np.arange(n_groups) == labels[i]
                sums = np.stack([centered[labels == g].sum(axis=0) for g in range(n_groups)])
                sizes_now = np.bincount(labels, counts, n_groups)
                # Swap i with each j of another cluster, or move i alone (the last entries).
                there = np.append(labels, np.arange(n_groups))
                step = centered[i] - np.concatenate([centered, np.zeros((n_groups, X.shape[1]))])
                count = counts[i] - np.append(counts, np.zeros(n_groups))
                here = between(sums[mine] - step, sizes_now[mine] - count)
                gain = between(sums, sizes_now)[mine] + between(sums, sizes_now)[there]
                gain -= here + between(sums[there] + step, sizes_now[there] + count)
                gain[there == labels[i]] = 0.0
                for j in np.argsort(-gain)[: np.count_nonzero(gain > 1e-9)]:
                    trial = labels.copy()
                    trial[i] = there[j]
                    if j < len(labels):
                        trial[j] = labels[i]
                    if structure.holds(structure.expand(trial)):
                        labels, improved = trial, True
                        break
        sums = np.stack([centered[labels == g].sum(axis=0) for g in range(n_groups)])
        value = between(sums, np.bincount(labels, counts, n_groups)).sum()
        if value < least:
            best, least = structure.expand(labels), value
    return best, float(least)


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    gender = np.array(["f"] * 12 + ["m"] * 18)
    X = np.column_stack([rng.normal(40, 10, 30), rng.normal(size=30) * 5, rng.gamma(2.0, 3.0, 30)])
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    known = Constraints([(0, 20)], [(3, 4), (15, 16)], n_points=30)
    known = known.quota(gender, {"f": 4}, {"f": 4}, name="gender")
    alike = SMDEClust(3, size_min=10, size_max=10, random_state=0).fit(X, constraints=known).labels_
    mixed, least = mixed_groups(X, 3, known, size_min=10, size_max=10)
    for name, labels in (("clusters", alike), ("mixed groups", mixed)):
        means = np.stack([X[labels == g].mean(axis=0) for g in range(3)])
        print(f"{name}: means of the three columns\n{np.round(means, 2)}")
    print(f"sum of squares between the mixed groups: {least:.4f} of {(X**2).sum():.0f}")

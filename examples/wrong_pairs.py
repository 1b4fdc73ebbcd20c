"""What happens if some pairs are wrong: hard pairs, compared with methods that may break pairs.

Some of the pairs are changed to the opposite kind. Hard pairs are satisfied even if they are wrong,
and pairs that contradict each other raise an error. The other methods may break wrong pairs.
"""

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import adjusted_rand_score

from smdeclust import PCCC, InfeasibleConstraintsError, PCKMeans, SMDEClust
from smdeclust.datasets import make_constraints, make_synthetic

data = make_synthetic(150, 3, cluster_std=4.0, random_state=8)
pairs = make_constraints(data.y, 60, random_state=8)
rng = np.random.default_rng(0)
together, apart = rng.permutation(pairs.must_link), rng.permutation(pairs.cannot_link)
shares = [0.0, 0.05, 0.1, 0.2, 0.3]
scores = {"SMDEClust (hard pairs)": [], "PCCC (soft pairs)": [], "PCK-means (soft pairs)": []}
for share in shares:
    m, c = round(share * len(together)), round(share * len(apart))
    ml = np.concatenate([together[m:], apart[:c]])
    cl = np.concatenate([apart[c:], together[:m]])
    try:
        strict = SMDEClust(3, random_state=0).fit_predict(data.X, must_link=ml, cannot_link=cl)
    except InfeasibleConstraintsError:
        strict = None  # the wrong pairs contradict other pairs
    soft = PCCC(3, n_init=3, random_state=0)
    soft.fit(data.X, soft_must_link=ml, soft_cannot_link=cl)
    cheap = PCKMeans(3, random_state=0).fit(data.X, must_link=ml, cannot_link=cl)
    for name, labels in zip(scores, (strict, soft.labels_, cheap.labels_), strict=True):
        score = np.nan if labels is None else adjusted_rand_score(data.y, labels)
        scores[name].append(score)
        print(f"{share:4.0%} wrong  {name:22s}  ARI {score:.3f}")

figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
for (name, values), style in zip(scores.items(), ("o-", "s--", "^:"), strict=True):
    ax.plot([100 * share for share in shares], values, style, label=name)
ax.set(xlabel="wrong pairs, %", ylabel="agreement with the classes (ARI)")
ax.legend()
figure.savefig("wrong_pairs.png", dpi=110)

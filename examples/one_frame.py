"""People in a video: detections in the same frame show different people.

No labels are known. All pairs within a frame are cannot-links. (On the command line, pass the
column of frames: `smdeclust fit --group-column frame --kind cl`.)
"""

import itertools

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import adjusted_rand_score

from smdeclust import SMDEClust
from smdeclust.plotting import plot_clusters

rng = np.random.default_rng(3)
people = rng.normal(scale=1.5, size=(4, 2))  # what the four look like, as two numbers
person, frame = [], []
for number in range(40):
    seen = rng.permutation(4)[: rng.integers(2, 5)]
    person.extend(seen)
    frame.extend([number] * len(seen))
person, frame = np.array(person), np.array(frame)
X = people[person] + rng.normal(scale=0.8, size=(len(person), 2))

apart = [
    pair
    for number in range(40)
    for pair in itertools.combinations(np.flatnonzero(frame == number).tolist(), 2)
]
free = SMDEClust(n_clusters=4, random_state=0).fit(X)
kept = SMDEClust(n_clusters=4, random_state=0).fit(X, cannot_link=apart)
print(f"{len(X)} detections in 40 frames, {len(apart)} cannot-links")
for name, model in (("without", free), ("with", kept)):
    agreement = adjusted_rand_score(person, model.labels_)
    print(f"{name:8s} frames known: agreement with the people {agreement:.3f}")

figure, ax = plt.subplots(figsize=(6.5, 5), layout="constrained")
plot_clusters(X, kept.labels_, cannot_link=apart, max_pairs=60, ax=ax)
figure.savefig("one_frame.png", dpi=110)

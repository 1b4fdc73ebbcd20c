"""In a scikit-learn pipeline: scale the columns, then cluster.

Add the name of the step as a prefix to the arguments of `fit`, as in `smdeclust__must_link`.
"""

from sklearn.datasets import load_wine
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import shuffle

from smdeclust import SMDEClust
from smdeclust.datasets import make_constraints

X, y = shuffle(*load_wine(return_X_y=True), random_state=0)  # the rows are sorted by class
pairs = make_constraints(y, 60, random_state=0)

raw = SMDEClust(n_clusters=3, random_state=0)
raw.fit(X, must_link=pairs.must_link, cannot_link=pairs.cannot_link)
print(f"original columns: ARI {adjusted_rand_score(y, raw.labels_):.3f}")

pipeline = make_pipeline(StandardScaler(), SMDEClust(n_clusters=3, random_state=0))
pipeline.fit(X, smdeclust__must_link=pairs.must_link, smdeclust__cannot_link=pairs.cannot_link)
labels = pipeline[-1].labels_
print(f"standardized columns: ARI {adjusted_rand_score(y, labels):.3f}")
print("three new rows go to", pipeline.predict(X[:3] + 0.01))

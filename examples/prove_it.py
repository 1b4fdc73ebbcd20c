"""Prove that a clustering is optimal, and check the proof.

The certificate is saved as a file. `verify` does not trust the bound in the file. It computes the
bound again from the data.
"""

from smdeclust import SMDEClust
from smdeclust.datasets import make_constraints, make_synthetic
from smdeclust.exact import Certificate, certify, verify

data = make_synthetic(60, 3, cluster_std=4.0, random_state=4)
pairs = make_constraints(data.y, 40, random_state=4)
links = {"must_link": pairs.must_link, "cannot_link": pairs.cannot_link}

model = SMDEClust(n_clusters=3, random_state=0).fit(data.X, **links)
certificate = certify(data.X, model.labels_, max_time=60, **links)
print(f"{certificate.status}: {certificate.lower_bound:.6f} to {certificate.upper_bound:.6f}")

certificate.save("proof.npz")
checked = verify(data.X, Certificate.load("proof.npz"), **links)
print(f"verified: no clustering is below {checked.lower_bound:.6f}, gap {checked.gap:.1e}")

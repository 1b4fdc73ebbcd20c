"""Classes by the likelihood of pairs: softmax on kernel features, then exact labels."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from scipy.special import log_softmax
from sklearn.kernel_approximation import Nystroem

from smdeclust.constraints import KINDS, Constraints
from smdeclust.views.scene import Scene, Seen, View

# Kernel features; rows that stand for all in the agreement with present labels.
N_KERNELS, MAX_ROWS = 120, 3000

# Strength of the penalty and steps of the optimizer.
PENALTY, STEPS = 0.003, 50

# No pair is surer than this: a likelihood of zero says too much.
SUREST = 1 - 1e-6


@dataclass(frozen=True, eq=False)
class Features:
    """Kernel features of coordinates, the coordinates themselves and a constant, of one scale."""

    kernel: Nystroem
    mean: np.ndarray
    scale: float
    offset: np.ndarray
    size: float

    @classmethod
    def of(cls, coordinates: np.ndarray, seed: int) -> "Features":
        """Features that suit these points."""
        rng = np.random.default_rng(seed)
        n = len(coordinates)
        few = coordinates[rng.permutation(n)[:300]]
        middle = float(np.median(cdist(few, few, "sqeuclidean"))) or 1.0
        kernel = Nystroem(
            gamma=1 / middle, n_components=max(1, min(N_KERNELS, n // 2)), random_state=seed
        ).fit(coordinates)
        raw = kernel.transform(coordinates)
        mean, offset = raw.mean(axis=0), coordinates.mean(axis=0)
        scale = mean_length(raw - mean)
        return cls(kernel, mean, scale, offset, mean_length(coordinates - offset))

    def __call__(self, coordinates: np.ndarray) -> np.ndarray:
        """(n, m) features."""
        curved = (self.kernel.transform(coordinates) - self.mean) / self.scale
        straight = (coordinates - self.offset) / self.size
        return np.hstack([curved, straight, np.full((len(coordinates), 1), 0.3)])


def agreement(k: int) -> float:
    """Weight of a present label against a pair.

    Between two or three classes a pair says as much as a label does; among many it says little,
    and the borders need the labels.
    """
    return min(0.3, max(0.05, 0.03 * k))


def mean_length(vectors: np.ndarray) -> float:
    """Root mean square length."""
    return float(np.sqrt((vectors**2).sum(axis=1).mean())) or 1.0


def train(
    features: np.ndarray,
    labels: np.ndarray,
    k: int,
    known: Constraints,
    seed: int,
    weight: np.ndarray | None = None,
) -> np.ndarray:
    """(m, K) weights of the classes that make pairs and present labels likely.

    A pair of confidence p says "together" with probability p q + (1 - p) (1 - q), where q is the
    probability of one class, sum_k P_ik P_jk.
    """
    n = len(features)
    pairs, sure, sign = _evidence(known)
    rows = np.random.default_rng(seed).permutation(n)[:MAX_ROWS]
    used, place = np.unique(np.concatenate([rows, pairs.ravel()]), return_inverse=True)
    place = place.reshape(-1)
    i, j = place[len(rows) :].reshape(-1, 2).T
    A = np.ascontiguousarray(features[used])
    share = np.bincount(place[: len(rows)], minlength=len(used)) * (agreement(k) * n / len(rows))
    if weight is not None:
        share *= (weight / weight.mean())[used]
    target = np.zeros((len(used), k))
    target[np.arange(len(used)), labels[used]] = share
    edge = np.arange(len(pairs))
    to_i, to_j = (
        csr_array((np.ones(len(edge)), (end, edge)), shape=(len(used), len(edge))) for end in (i, j)
    )

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        W = flat.reshape(-1, k)
        log_p = log_softmax(A @ W, axis=1)
        P = np.exp(log_p)
        q = np.einsum("ek,ek->e", P[i], P[j])
        right = np.where(sign > 0, q, 1 - q)
        likely = np.maximum(sure * right + (1 - sure) * (1 - right), 1e-12)
        value = -float(np.log(likely).sum()) - float((target * log_p).sum())
        slope = (-sign * (2 * sure - 1) / likely)[:, None]
        G = to_i @ (slope * P[j]) + to_j @ (slope * P[i])
        G = P * (G - (G * P).sum(axis=1, keepdims=True)) + P * share[:, None] - target
        value = value / n + PENALTY * float((W**2).sum()) / 2
        return value, (A.T @ G / n + PENALTY * W).ravel()

    start = np.zeros(features.shape[1] * k)
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": STEPS})
    return found.x.reshape(-1, k)


def _evidence(known: Constraints) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """All pairs, how sure each is, and 1 for together, -1 for apart."""
    pairs = [getattr(known, kind) for kind in KINDS]
    hard = np.full(len(known.must_link) + len(known.cannot_link), SUREST)
    sure = hard, known.soft_must_link_confidence, known.soft_cannot_link_confidence
    sign = np.repeat([1.0, -1.0, 1.0, -1.0], list(map(len, pairs)))
    return np.concatenate(pairs), np.clip(np.concatenate(sure), 0.5, SUREST), sign


def see_classes(
    features: np.ndarray, labels: np.ndarray, scene: Scene
) -> tuple[np.ndarray, np.ndarray]:
    """Labels that keep all hard pairs, from these labels; and the weights of the classes."""
    weights = train(features, labels, scene.n_clusters, scene.known, scene.seed, scene.weight)
    # Costs are nats, and a soft pair carries log(p / (1 - p)) of them.
    found = scene.assign(-log_softmax(features @ weights, axis=1), 0.25, labels)
    return found, weights


class Classes(View):
    """Curved borders between classes, by the likelihood of pairs in the learned distance."""

    name = "classes"

    def see(self, scene: Scene) -> Seen:
        """Train from the clusters of the learned distance; one round, more of them drift."""
        distance = scene.learned
        features = Features.of(distance.coordinates, scene.seed)
        shown = features(distance.coordinates)
        labels, weights = see_classes(shown, scene.learned_labels, scene)
        return Seen(labels, distance.coordinates, shown, (distance, features, weights))

    def place(self, seen: Seen, X: np.ndarray) -> Seen:
        """Take the likeliest class."""
        distance, features, weights = seen.model
        places = distance.map(X)
        shown = features(places)
        return Seen((shown @ weights).argmax(axis=1), places, shown)

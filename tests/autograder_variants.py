"""Correct programs in unusual clothes, and programs that try to get by without solving anything.

Each is the text of what a student might hand in; it is appended to the reference's functions and
so replaces those of the same name.
"""

from __future__ import annotations

# SMO by the maximal violating pair: no random partner, no sweeps.
MAXIMAL_PAIR = """
def smo(K, y, C, tol, max_passes, rng, max_sweeps):
    y = np.asarray(y, dtype=float)
    alpha, r = np.zeros(len(y)), y.copy()
    for _ in range(max_sweeps * len(y)):
        up = np.where(((y > 0) & (alpha < C)) | ((y < 0) & (alpha > 0)), r, -np.inf)
        low = np.where(((y > 0) & (alpha > 0)) | ((y < 0) & (alpha < C)), r, np.inf)
        i, j = int(np.argmax(up)), int(np.argmin(low))
        if up[i] - low[j] < tol:
            break
        room = min(C - alpha[i] if y[i] > 0 else alpha[i], alpha[j] if y[j] > 0 else C - alpha[j])
        step = min(room, (r[i] - r[j]) / max(K[i, i] + K[j, j] - 2 * K[i, j], 1e-12))
        alpha[i] += y[i] * step
        alpha[j] -= y[j] * step
        r -= step * (K[:, i] - K[:, j])
    return alpha, (up[i] + low[j]) / 2
"""

# The lecture's steps in another order: i at random, all errors kept and brought up to date.
SHUFFLED_WITH_CACHE = """
def smo(K, y, C, tol, max_passes, rng, max_sweeps):
    n, alpha, b, quiet = len(y), np.zeros(len(y)), 0.0, 0
    E = -np.asarray(y, dtype=float)
    for _ in range(max_sweeps):
        moved = 0
        for i in rng.permutation(n):
            if not violates_kkt(alpha[i], E[i], y[i], C, tol):
                continue
            j = select_j(i, n, rng)
            L, H = bounds(alpha[i], alpha[j], y[i], y[j], C)
            if H - L < 1e-12 or eta(i, j, K) >= 0:
                continue
            new_j = new_alpha_j(alpha[j], y[j], E[i], E[j], eta(i, j, K), L, H)
            if abs(new_j - alpha[j]) < 1e-6:
                continue
            new = alpha.copy()
            new[j], new[i] = new_j, new_alpha_i(alpha[i], alpha[j], new_j, y[i], y[j])
            new_b = thresholds(i, j, alpha, new, E[i], E[j], b, K, y, C)
            E += K @ ((new - alpha) * y) + new_b - b
            alpha, b, moved = new, new_b, moved + 1
        quiet = 0 if moved else quiet + 1
        if quiet == max_passes:
            break
    return alpha, b
"""

# Everything in a class, behind functions of one line; answers as Python lists and (n, 1) arrays.
IN_A_CLASS = """
class Machine:
    def __init__(self, K, y, C):
        self.K, self.y, self.C = K, y, C
        self.alpha, self.b = [0.0] * len(y), 0

    def output(self, k):
        return sum(a * t * v for a, t, v in zip(self.alpha, self.y, self.K[k])) + self.b

    def step(self, i, j):
        E_i, E_j = self.output(i) - self.y[i], self.output(j) - self.y[j]
        L, H = bounds(self.alpha[i], self.alpha[j], self.y[i], self.y[j], self.C)
        if L >= H or eta(i, j, self.K) >= 0:
            return False
        old = np.array(self.alpha)
        a_j = float(new_alpha_j(old[j], self.y[j], E_i, E_j, eta(i, j, self.K), L, H))
        if abs(a_j - old[j]) < 1e-5:
            return False
        self.alpha[j] = a_j
        self.alpha[i] = float(new_alpha_i(old[i], old[j], a_j, self.y[i], self.y[j]))
        new = np.array(self.alpha)
        self.b = thresholds(i, j, old, new, E_i, E_j, self.b, self.K, self.y, self.C)
        return True

    def sweep(self, tol, rng):
        n, moved = len(self.y), False
        for i in range(n):
            E = self.output(i) - self.y[i]
            if violates_kkt(self.alpha[i], E, self.y[i], self.C, tol):
                moved |= self.step(i, select_j(i, n, rng))
        return moved


def smo(K, y, C, tol, max_passes, rng, max_sweeps):
    machine, quiet = Machine(K, y, C), 0
    while quiet < max_passes and max_sweeps > 0:
        quiet = 0 if machine.sweep(tol, rng) else quiet + 1
        max_sweeps -= 1
    return np.array(machine.alpha)[:, None], np.array([[machine.b]])


def clip(a, L, H):
    return L if a <= L else H if a >= H else a


def violates_kkt(alpha_k, E_k, y_k, C, tol):
    return int((y_k * E_k < -tol and alpha_k < C) or (y_k * E_k > tol and alpha_k > 0))
"""

# b as the mean over all free examples, as many books recommend; float32 inside.
AVERAGED_IN_FLOAT32 = """
def thresholds(i, j, alpha_old, alpha_new, E_i, E_j, b, K, y, C):
    move_i, move_j = y[i] * (alpha_new[i] - alpha_old[i]), y[j] * (alpha_new[j] - alpha_old[j])
    b1 = b - E_i - move_i * K[i, i] - move_j * K[i, j]
    b2 = b - E_j - move_i * K[i, j] - move_j * K[j, j]
    return np.float32((b1 + b2) / 2)


def error(k, alpha, b, K, y):
    f = K[k].astype(np.float32) @ (alpha * y).astype(np.float32) + np.float32(b)
    return f - np.float32(y[k])


def bounds(alpha_i, alpha_j, y_i, y_j, C):
    s = y_i * y_j
    line = alpha_j + s * alpha_i
    return [max(0, line - C * (s > 0)), min(C, line + C * (s < 0))]
"""

SMO = {
    "maximal violating pair": MAXIMAL_PAIR,
    "shuffled, errors cached": SHUFFLED_WITH_CACHE,
    "in a class": IN_A_CLASS,
    "b averaged, float32": AVERAGED_IN_FLOAT32,
}

# Pegasos written out in one loop, in passes over shuffled rows, float32 inside.
IN_ONE_LOOP = """
def pegasos(X, y, lam, T, rng, k=1):
    X32, w, order = np.asarray(X, dtype=np.float32), np.zeros(X.shape[1], dtype=np.float32), []
    for t in range(1, T + 1):
        if len(order) < k:
            order = rng.permutation(len(y)).tolist()
        rows, order = order[:k], order[k:]
        A, s = X32[rows], y[rows]
        grad = lam * w - (A * s[:, None])[s * (A @ w) < 1].sum(axis=0) / k
        w = w - np.float32(1 / (lam * t)) * grad
    return w.reshape(-1, 1)
"""

SGD_IN_A_CLASS = """
class Learner:
    def __init__(self, d, lam):
        self.w, self.lam, self.t = np.zeros(d), lam, 0

    def learn(self, X, y):
        self.t += 1
        self.w = update(self.w, X, y, self.lam, self.t)
        self.w = project(self.w, self.lam)


def pegasos(X, y, lam, T, rng, k=1):
    learner = Learner(np.shape(X)[1], lam)
    while learner.t < T:
        rows = rng.choice(len(y), size=k)
        learner.learn(X[rows], y[rows])
    return learner.w.tolist()


def subgradient(w, x, y):
    return [-y * v if y * sum(a * b for a, b in zip(w, x)) <= 1 else 0 for v in x]


def objective(w, X, y, lam):
    total = 0
    for row, label in zip(X, y):
        total += max(0, 1 - label * np.dot(w, row))
    return np.array([[total / len(y) + lam / 2 * np.linalg.norm(w) ** 2]])
"""

SGD = {"one loop, float32, shuffled passes": IN_ONE_LOOP, "in a class": SGD_IN_A_CLASS}

SMO_CHEATS = {
    "zeros": "def smo(K, y, C, *rest):\n    return np.zeros(len(y)), 0.0\n",
    "zeros and the right sign of b": (
        "def smo(K, y, C, *rest):\n    return np.zeros(len(y)), float(np.sign(y.sum()))\n"
    ),
    "random": (
        "def smo(K, y, C, tol, max_passes, rng, max_sweeps):\n"
        "    return rng.uniform(0, C, len(y)), rng.normal()\n"
    ),
    "random and feasible": (
        "def smo(K, y, C, tol, max_passes, rng, max_sweeps):\n"
        "    a = rng.uniform(0, C, len(y))\n"
        "    a[y > 0] /= a[y > 0].sum()\n    a[y < 0] /= a[y < 0].sum()\n"
        "    return C * a, 0.0\n"
    ),
    "copy of y": "def smo(K, y, C, *rest):\n    return y * 1.0, 0.0\n",
    "all at C": "def smo(K, y, C, *rest):\n    return C * (y > 0) * 1.0, 0.0\n",
    "the printed answer": (
        "def smo(K, y, C, *rest):\n"
        "    answer = np.array([0, 5 / 2, 0, 22 / 3, 29 / 6])\n"
        "    return (answer if len(y) == 5 else np.zeros(len(y))), 9.0\n"
    ),
}

SGD_CHEATS = {
    "zeros": "def pegasos(X, y, lam, T, rng, k=1):\n    return np.zeros(X.shape[1])\n",
    "random": "def pegasos(X, y, lam, T, rng, k=1):\n    return rng.normal(size=X.shape[1])\n",
    "mean of yx": "def pegasos(X, y, lam, T, rng, k=1):\n    return y @ X / len(y) / lam\n",
    "copy of y": (
        "def pegasos(X, y, lam, T, rng, k=1):\n"
        "    return np.resize(np.asarray(y, dtype=float), X.shape[1])\n"
    ),
}

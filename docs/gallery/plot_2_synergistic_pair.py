"""
Finding a synergistic pair
==========================

Two features that tell nothing alone can tell everything together. A ranking of single features never finds them, and
neither does a method that adds the best next feature. Here such a pair is planted, found, tested and used.
"""

# %%
# A table with a hidden pair
# --------------------------
# The class depends on ``x2`` and ``x7`` together (both high or both low), with one label in ten flipped at random, and
# a little on ``x0`` alone. All other features are noise.

import matplotlib.pyplot as plt
import numpy as np

from synafa import Discretizer, InformationTables, SynAFA

rng = np.random.default_rng(0)
n, d = 2000, 10
X = rng.normal(size=(n, d))
y = (X[:, 2] > 0) ^ (X[:, 7] > 0)
y = np.where(rng.random(n) < 0.3, X[:, 0] > 0, y)
y = (y ^ (rng.random(n) < 0.1)).astype(int)
train, test = np.arange(n) < 1400, np.arange(n) >= 1400

# %%
# Alone, and together
# -------------------
# ``single[j]`` is the information of a feature about the class in bits, ``pair[j, k]`` that of two features together.
# The Williams-Beer atoms divide the second into what both tell (redundant), what only one tells (unique) and what
# neither tells alone (synergy).

codes = Discretizer().fit_transform(X[train])
tables = InformationTables.from_codes(codes, y[train])
atoms = tables.pid()

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
left.bar(range(d), tables.single, color="#4C86B8")
left.set(title="Information of each feature alone", xlabel="feature", ylabel="bits", xticks=range(d))
image = right.imshow(atoms.synergy, cmap="Oranges")
right.set(title="Synergy of each pair", xlabel="feature", ylabel="feature", xticks=range(d), yticks=range(d))
figure.colorbar(image, label="bits")
plt.show()

# %%
# Is it more than chance?
# -----------------------
# Every table of finite size shows some synergy. The permutation test shuffles one of the two features within each
# class, which keeps what each tells alone and destroys what they tell together; for two classes the p-value is exact.
# Benjamini-Hochberg takes into account that all 45 pairs are tested.

from synafa.stats import benjamini_hochberg, pair_permutation_test, pair_table

pairs = [(j, k) for j in range(d) for k in range(j + 1, d)]
tests = [pair_permutation_test(pair_table(codes[:, j], codes[:, k], y[train])) for j, k in pairs]
found = benjamini_hochberg(np.array([test.p_synergy for test in tests]), 0.05)
for (j, k), result, adjusted, real in zip(pairs, tests, found.adjusted, found.rejected):
    if real:
        bits = atoms.synergy[j, k]
        print(f"x{j} and x{k}: synergy {bits:.3f} bits, p = {result.p_synergy:.1e}, adjusted {adjusted:.1e}")

# %%
# A policy that looks at pairs uses it
# ------------------------------------
# With a budget of two measurements, the policy takes the pair. Without its pair branch it takes the best single feature
# and then whatever looks best, and never comes near.

names = np.array([f"x{j}" for j in range(d)])
for pair_branch in (True, False):
    policy = SynAFA(budget=2, pair_branch=pair_branch).fit(X[train], y[train])
    mask = policy.acquire(X[test], on_stop="fallback").mask
    sets, counts = np.unique(mask, axis=0, return_counts=True)
    shown = ", ".join(f"{' and '.join(names[s])} ({c} rows)" for s, c in zip(sets, counts))
    print(f"pair_branch={pair_branch}: {shown}")

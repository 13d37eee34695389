"""Slow and obvious versions of every quantity of the core: loops and dictionaries to test the fast paths against."""

from __future__ import annotations

from collections import Counter
from math import exp, inf, log, log2

# --- codes ---------------------------------------------------------------------------------------------------------


def threshold(column):
    """The study's threshold of a column: `x > threshold` is bit 1."""
    values = sorted(float(x) for x in column)
    distinct = sorted(set(values))
    if len(distinct) == 1:
        return inf
    if len(distinct) == 2:
        return distinct[0] / 2 + distinct[1] / 2
    n = len(values)
    median = values[n // 2] if n % 2 else values[n // 2 - 1] / 2 + values[n // 2] / 2
    return median if any(x > median for x in values) else distinct[-2]


def codes(rows):
    """Bits of a table, a list of lists."""
    limits = [threshold(column) for column in zip(*rows)]
    return [[int(float(x) > limit) for x, limit in zip(row, limits)] for row in rows]


# --- information, in bits ------------------------------------------------------------------------------------------


def mutual_information(xs, ys):
    """I(X;Y) of two lists, plug-in."""
    n = len(xs)
    if n == 0:
        return 0.0
    joint, px, py = Counter(zip(xs, ys)), Counter(xs), Counter(ys)
    return sum(c / n * log2(c * n / (px[x] * py[y])) for (x, y), c in joint.items())


def column(table, j):
    return [int(row[j]) for row in table]


def single(table, y):
    return [mutual_information(column(table, j), list(y)) for j in range(len(table[0]))]


def pair(table, y, j, k):
    return mutual_information(list(zip(column(table, j), column(table, k))), list(y))


def cond(table, y, j, k, v):
    """I(Y; X_j | X_k = v); nothing in the stratum, nothing to know."""
    inside = [i for i, row in enumerate(table) if int(row[k]) == v]
    return mutual_information([int(table[i][j]) for i in inside], [y[i] for i in inside])


def complete_cases(table, y, features, missing):
    """The rows that have all of these features, and their classes; `missing` is the code of a missing cell."""
    kept = [i for i, row in enumerate(table) if all(int(row[j]) != missing for j in features)]
    return [list(map(int, table[i])) for i in kept], [y[i] for i in kept]


def few(rows, n):
    """Whether these rows of n are so few that what they tell counts as nothing."""
    return len(rows) < min(50, n // 2)


def joint_counts(table, y, j, k):
    """Counter of (class, code of j, code of k)."""
    return Counter((label, int(row[j]), int(row[k])) for row, label in zip(table, y))


def specific_information(table, y, j, label):
    """I_spec(y; X_j) = sum_x p(x|y) log2( p(y|x) / p(y) )."""
    n, n_label = len(y), list(y).count(label)
    total = 0.0
    for x in set(column(table, j)):
        n_x = column(table, j).count(x)
        n_both = sum(1 for row, c in zip(table, y) if int(row[j]) == x and c == label)
        if n_both:
            total += n_both / n_label * log2((n_both / n_x) / (n_label / n))
    return total


def atoms(table, y, j, k):
    """Williams-Beer redundancy, unique of j, unique of k, synergy."""
    n = len(y)
    redundant = 0.0
    for label in set(y):
        share = list(y).count(label) / n
        redundant += share * min(specific_information(table, y, j, label), specific_information(table, y, k, label))
    i_j, i_k = mutual_information(column(table, j), list(y)), mutual_information(column(table, k), list(y))
    return redundant, i_j - redundant, i_k - redundant, pair(table, y, j, k) - i_j - i_k + redundant


# --- the decision rule ---------------------------------------------------------------------------------------------


def with_result(tables, x, observed):
    """The observed features whose code is one of the bins; the others were paid and gave no result."""
    return [k for k in observed if x[k] < len(tables.cond[k][k])]


def decide(tables, x, observed, costs, weight, remaining, affordability, pair_branch=True, blocked=()):
    """The next feature of one row and its branch, or (None, "stop"); `tables` has single, pair and cond."""
    d = len(costs)
    best, choice, branch = 0.0, None, "stop"
    for j in range(d):
        if j in observed or j in blocked:
            continue
        if affordability == "strict" and costs[j] > remaining + 1e-9:
            continue
        score, kind = tables.single[j], "single"
        for k in sorted(with_result(tables, x, observed)):
            if tables.cond[j][k][x[k]] > score:
                score, kind = tables.cond[j][k][x[k]], "conditional"
        if score - weight * costs[j] > best:
            best, choice, branch = score - weight * costs[j], j, kind
    if not pair_branch:
        return choice, branch
    for j in range(d):
        for k in range(j + 1, d):
            if {j, k} & (set(observed) | set(blocked)):
                continue
            if affordability != "deployed" and costs[j] + costs[k] > remaining + 1e-9:
                continue
            score = tables.pair[j][k] - weight * (costs[j] + costs[k])
            if score > best:
                best, branch = score, "pair"
                choice = k if tables.single[k] > tables.single[j] else j
    return choice, branch


def episode(tables, x, costs, weight, budget, affordability, force, pair_branch=True, known=(), blocked=()):
    """The features one row acquires, in order, with their branches, and the money spent."""
    observed, remaining, steps = set(known), budget, []
    while True:
        j, branch = decide(tables, x, observed, costs, weight, remaining, affordability, pair_branch, blocked)
        if j is None and force:
            left = [
                i
                for i in range(len(costs))
                if i not in observed
                and i not in blocked
                and (affordability != "strict" or costs[i] <= remaining + 1e-9)
            ]
            j, branch = (left[0] if left else None), "fallback"
        if j is None or costs[j] > remaining + 1e-9:
            return steps, budget - remaining
        steps.append((j, branch))
        observed.add(j)
        remaining -= costs[j]


def price_now(prices, j, observed, at_start=()):
    """What asking for j costs: the reduced price once a member of its group was paid."""
    if j in at_start:
        return 0.0
    paid = {int(prices.group[k]) for k in observed if k not in at_start}
    reduced = prices.group[j] >= 0 and int(prices.group[j]) in paid
    return float(prices.price_in_group[j] if reduced else prices.price[j])


def panel_of(prices, j):
    return next((set(panel) for panel in prices.panels if j in panel), {j})


def priced_decide(tables, x, observed, prices, weight, remaining, affordability, pair_branch=True, out=(), at_start=()):
    """As `decide` with panels and groups: every price is the one now, and a pair's is paid member after member."""
    hidden = [j for j in range(len(prices.price)) if j not in observed and j not in out]
    best, choice, branch = 0.0, None, "stop"
    for j in hidden:
        price = price_now(prices, j, observed, at_start)
        if affordability == "strict" and price > remaining + 1e-9:
            continue
        score, kind = tables.single[j], "single"
        for k in sorted(with_result(tables, x, observed)):
            if tables.cond[j][k][x[k]] > score:
                score, kind = tables.cond[j][k][x[k]], "conditional"
        if score - weight * price > best:
            best, choice, branch = score - weight * price, j, kind
    for j in hidden if pair_branch else ():
        for k in hidden:
            if j >= k:
                continue
            first, then = (k, j) if tables.single[k] > tables.single[j] else (j, k)
            price = price_now(prices, first, observed, at_start)
            if first in at_start or then not in panel_of(prices, first):
                price += price_now(prices, then, {*observed, first}, at_start)
            if affordability != "deployed" and price > remaining + 1e-9:
                continue
            if tables.pair[j][k] - weight * price > best:
                best, branch, choice = tables.pair[j][k] - weight * price, "pair", first
    return choice, branch


def priced_episode(tables, x, prices, weight, budget, affordability, force, pair_branch, known, blocked, at_start):
    """As `episode` with panels and groups: the steps, the money spent, and everything that is known in the end."""
    observed, remaining, steps = {*known, *at_start}, budget, []
    while True:
        j, branch = priced_decide(
            tables, x, observed, prices, weight, remaining, affordability, pair_branch, blocked, at_start
        )
        if j is None and force:
            left = [i for i in range(len(prices.price)) if i not in observed and i not in blocked]
            if affordability == "strict":
                left = [i for i in left if price_now(prices, i, observed, at_start) <= remaining + 1e-9]
            j, branch = (left[0] if left else None), "fallback"
        price = 0.0 if j is None else price_now(prices, j, observed, at_start)
        if j is None or price > remaining + 1e-9:
            return steps, budget - remaining, observed
        steps.append((j, branch))
        observed |= {k for k in panel_of(prices, j) if k not in blocked}
        remaining -= price


# --- the diagnostic objective --------------------------------------------------------------------------------------


def objective(tables, x, members):
    """T(S) of one row."""
    total = 0.0
    for j in members:
        best = tables.single[j]
        for k in members:
            if k != j:
                best = max(best, tables.cond[j][k][x[k]])
        total += best
    return total


def local_search(tables, x, members, tolerance=1e-4):
    """The swaps (removed, added) of the corrected search and the final set."""
    members, swaps = set(members), []
    while True:
        now = objective(tables, x, members)
        best, swap = -inf, None
        for out in sorted(members):
            for into in range(len(tables.single)):
                if into not in members:
                    value = objective(tables, x, (members - {out}) | {into})
                    if value > best:
                        best, swap = value, (out, into)
        if swap is None or not best - now > tolerance:
            return swaps, members
        swaps.append(swap)
        members = (members - {swap[0]}) | {swap[1]}


def loose_search(tables, x, members, rounds, tolerance=1e-4):
    """The swaps (removed, added) of the uncorrected search and the final set; a newcomer sits where the other sat."""
    members, swaps = [int(m) for m in members], []

    def told(j):
        return max([tables.single[j], *(tables.cond[j][k][x[k]] for k in members if k != j)])

    for _ in range(rounds):
        least = min(members, key=told)
        most = max((c for c in range(len(tables.single)) if c not in members), key=told)
        if not told(most) - told(least) > tolerance:
            break
        swaps.append((least, most))
        members[members.index(least)] = most
    return swaps, members


# --- forests -------------------------------------------------------------------------------------------------------


def forest_mean(fitted, row):
    """The mean over the trees of a scikit-learn forest of what the row's leaf says (of the last class)."""
    total = 0.0
    for one in fitted.estimators_:
        tree, node = one.tree_, 0
        while tree.children_left[node] >= 0:
            left = row[tree.feature[node]] <= tree.threshold[node]
            node = tree.children_left[node] if left else tree.children_right[node]
        total += tree.value[node, 0, -1]
    return total / len(fitted.estimators_)


# --- networks ------------------------------------------------------------------------------------------------------


def softmax(logits):
    """Probabilities of a list of logits."""
    parts = [exp(logit - max(logits)) for logit in logits]
    return [part / sum(parts) for part in parts]


def dense(inputs, weights, bias, rectified):
    """One layer: a list of inputs, a row of weights for every output."""
    sums = [b + sum(float(w) * x for w, x in zip(row, inputs)) for row, b in zip(weights, bias)]
    return [max(total, 0.0) for total in sums] if rectified else sums


def masked_network(row, features, layers):
    """Class probabilities of the network `[x*m, m] -> h -> h -> K`; `features` are known, except where NaN."""
    known = [float(j in features and x == x) for j, x in enumerate(row)]
    inputs = [float(x) if there else 0.0 for x, there in zip(row, known)] + known
    w1, b1, w2, b2, w3, b3 = layers
    return softmax(dense(dense(dense(inputs, w1, b1, True), w2, b2, True), w3, b3, False))


def network_loss(known, labels, counts, weights, biases):
    """Mean log loss of a network with two rectified layers; every row counts `counts` times."""
    total = 0.0
    for row, label, count in zip(known.astype(float), labels, counts):
        values = list(row)
        for layer, (matrix, bias) in enumerate(zip(weights, biases)):
            values = [sum(v * matrix[i][h] for i, v in enumerate(values)) + bias[h] for h in range(len(bias))]
            if layer < 2:
                values = [max(v, 0.0) for v in values]
        total -= float(count) * (values[label] - log(sum(exp(v) for v in values)))
    return total / len(known)


def adam(weight, gradients, rates, decay):
    """One number under Adam with decoupled decay."""
    m = v = 0.0
    for t, (g, rate) in enumerate(zip(gradients, rates), start=1):
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        weight = weight * (1 - rate * decay) - rate * (m / (1 - 0.9**t)) / ((v / (1 - 0.999**t)) ** 0.5 + 1e-8)
    return weight

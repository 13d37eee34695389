"""The set encoder's reading of observed entries and its rounds of LSTM and attention, with gradients, compiled.

A round on a row with memory m_1..m_k: gates = W [h, s] + b; (c, h) = the LSTM's step; a = softmax_j(h . m_j);
s = sum_j a_j m_j, which is 0 for a row without entries. Rows are taken in blocks and lie beside each other there, so
that every loop over a block is vectorised. h is part of the LSTM's input and its state: W has one column for both.
"""

from __future__ import annotations

import numpy as np
from numba import njit

BLOCK = 64  # rows computed side by side; what a round works on then fits the first-level cache

_ONE, _HALF, _ZERO = np.float32(1.0), np.float32(0.5), np.float32(0.0)
# tanh(x) = x p(x^2) / q(x^2) on |x| <= 7.9, beyond which it is 1 in single precision; highest power first.
_P = np.array(
    [-2.76076847742355e-16, 2.00018790482477e-13, -8.60467152213735e-11, 5.12229709037114e-08, 1.48572235717979e-05,
     6.37261928875436e-04, 4.89352455891786e-03], dtype=np.float32,
)  # fmt: skip
_Q = np.array([1.19825839466702e-06, 1.18534705686654e-04, 2.26843463243900e-03, 4.89352518554385e-03], np.float32)
_P0, _P1, _P2, _P3, _P4, _P5, _P6 = _P
_Q0, _Q1, _Q2, _Q3 = _Q
_LARGE = np.float32(7.90531110763549805)


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"}, inline="always")
def _tanh(x):  # type: ignore[no-untyped-def]
    """tanh without a call, so that a loop over it is vectorised; within 5e-7."""
    x = min(max(x, -_LARGE), _LARGE)
    y = x * x
    p = ((((((_P0 * y + _P1) * y + _P2) * y + _P3) * y + _P4) * y + _P5) * y + _P6) * x
    return p / (((_Q0 * y + _Q1) * y + _Q2) * y + _Q3)


@njit(cache=True, nogil=True)
def entries(values, mask, value_weight, index_weight):  # type: ignore[no-untyped-def]
    """The observed entries, row by row: where each row's begin (n + 1,), features (m,), values (m,) and
    relu(x * value_weight + index_weight[feature]), float32 (m, hidden).
    """
    n, d = mask.shape
    start = np.zeros(n + 1, dtype=np.int64)
    for r in range(n):
        start[r + 1] = start[r]
        for i in range(d):
            start[r + 1] += mask[r, i]
    m, width = start[n], len(value_weight)
    feature = np.empty(m, dtype=np.int64)
    value = np.empty(m, dtype=np.float32)
    first = np.empty((m, width), dtype=np.float32)
    at = 0
    for r in range(n):
        for i in range(d):
            if mask[r, i]:
                x = values[r, i]
                feature[at], value[at] = i, x
                for h in range(width):
                    first[at, h] = max(x * value_weight[h] + index_weight[i, h], _ZERO)
                at += 1
    return start, feature, value, first


@njit(cache=True, nogil=True)
def entries_back(feature, value, first, gradient, d):  # type: ignore[no-untyped-def]
    """The gradients of value_weight (hidden,) and index_weight (d, hidden) from that of `first`."""
    m, width = first.shape
    by_value = np.zeros(width, dtype=np.float32)
    by_index = np.zeros((d, width), dtype=np.float32)
    for e in range(m):
        i, x = feature[e], value[e]
        for h in range(width):
            passed = gradient[e, h] if first[e, h] > _ZERO else _ZERO
            by_value[h] += x * passed
            by_index[i, h] += passed
    return by_value, by_index


@njit(cache=True, nogil=True, fastmath={"contract"})
def _add_product(weight, x, out):  # type: ignore[no-untyped-def]
    """out += weight @ x on a block, four inputs at a time: a quarter of the traffic on `out`."""
    n_out, n_in = weight.shape
    for o in range(n_out):
        p = 0
        while p + 4 <= n_in:
            w0, w1, w2, w3 = weight[o, p], weight[o, p + 1], weight[o, p + 2], weight[o, p + 3]
            for q in range(BLOCK):
                out[o, q] += w0 * x[p, q] + w1 * x[p + 1, q] + w2 * x[p + 2, q] + w3 * x[p + 3, q]
            p += 4
        while p < n_in:
            for q in range(BLOCK):
                out[o, q] += weight[o, p] * x[p, q]
            p += 1


@njit(cache=True, nogil=True)
def _load(memory, start, begin, out):  # type: ignore[no-untyped-def]
    """The memories of the rows begin.. into out (longest, width, BLOCK), zeros behind each; int64 (BLOCK,), lengths."""
    count = np.zeros(BLOCK, dtype=np.int64)
    out[:] = _ZERO
    for q in range(min(BLOCK, len(start) - 1 - begin)):
        first = start[begin + q]
        count[q] = start[begin + q + 1] - first
        for j in range(count[q]):
            for k in range(out.shape[1]):
                out[j, k, q] = memory[first + j, k]
    return count


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def attend(memory, start, weight, bias, rounds, keep):  # type: ignore[no-untyped-def]
    """Where the rounds end, [h, s] (n, 2 width), and what their gradient needs if `keep`:
    [h, s] (rounds, blocks, 2 width, BLOCK), active gates (.., 4 width, ..), cells (.., width, ..), a (.., longest, ..).

    memory : float32 (m, width), the rows' entries one after the other; start : int64 (n + 1,), where each row's begin
    weight : float32 (4 width, 2 width), from [h, s] to the gates i, f, g, o; bias : float32 (4 width,)
    """
    n, width = len(start) - 1, memory.shape[1]
    longest = (start[1:] - start[:-1]).max()
    kept, blocks = rounds if keep else 2, (n + BLOCK - 1) // BLOCK
    states = np.empty((kept, blocks, 2 * width, BLOCK), dtype=np.float32)
    gates = np.empty((kept, blocks, 4 * width, BLOCK), dtype=np.float32)
    cells = np.empty((kept, blocks, width, BLOCK), dtype=np.float32)
    attention = np.empty((kept, blocks, longest, BLOCK), dtype=np.float32)
    out = np.empty((n, 2 * width), dtype=np.float32)
    loaded = np.empty((longest, width, BLOCK), dtype=np.float32)
    for b in range(blocks):
        count = _load(memory, start, b * BLOCK, loaded)
        for t in range(rounds):
            at, before = t % kept, (t - 1) % kept
            gate, state, cell = gates[at, b], states[at, b], cells[at, b]
            for o in range(4 * width):
                for q in range(BLOCK):
                    gate[o, q] = bias[o]
            if t > 0:
                _add_product(weight, states[before, b], gate)
            _step(gate, cells[before, b], cell, state, t == 0)
            _read(loaded, count, state, attention[at, b])
        for q in range(min(BLOCK, n - b * BLOCK)):
            for k in range(2 * width):
                out[b * BLOCK + q, k] = states[(rounds - 1) % kept, b, k, q]
    return out, states, gates, cells, attention


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def _step(gate, before, cell, state, first):  # type: ignore[no-untyped-def]
    """The LSTM's step: activate the gates, set the cell and h, the state's first half."""
    width = len(cell)
    for k in range(4 * width):
        if 2 * width <= k < 3 * width:
            for q in range(BLOCK):
                gate[k, q] = _tanh(gate[k, q])
        else:
            for q in range(BLOCK):
                gate[k, q] = _HALF + _HALF * _tanh(_HALF * gate[k, q])
    for k in range(width):
        for q in range(BLOCK):
            kept = _ZERO if first else gate[width + k, q] * before[k, q]
            cell[k, q] = kept + gate[k, q] * gate[2 * width + k, q]
        for q in range(BLOCK):
            state[k, q] = gate[3 * width + k, q] * _tanh(cell[k, q])


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def _read(loaded, count, state, attention):  # type: ignore[no-untyped-def]
    """The attention on a block's memories and what it reads, s, the state's second half, from h, its first."""
    longest, width, _ = loaded.shape
    largest = np.full(BLOCK, -np.inf, dtype=np.float32)
    total = np.zeros(BLOCK, dtype=np.float32)
    attention[:] = _ZERO
    for j in range(longest):
        for k in range(width):
            for q in range(BLOCK):
                attention[j, q] += loaded[j, k, q] * state[k, q]
        for q in range(BLOCK):
            largest[q] = max(largest[q], attention[j, q]) if j < count[q] else largest[q]
    for j in range(longest):
        for q in range(BLOCK):
            attention[j, q] = np.exp(attention[j, q] - largest[q]) if j < count[q] else _ZERO
            total[q] += attention[j, q]
    for q in range(BLOCK):
        total[q] = max(total[q], _ONE)  # at least one term is exp(0), except in a row without entries
    state[width:] = _ZERO
    for j in range(longest):
        for q in range(BLOCK):
            attention[j, q] /= total[q]
        for k in range(width):
            for q in range(BLOCK):
                state[width + k, q] += attention[j, q] * loaded[j, k, q]


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def attend_back(memory, start, back, states, gates, cells, attention, gradient):  # type: ignore[no-untyped-def]
    """The gradients of the memory (m, width) and of the gates before activation (rounds, blocks, 4 width, BLOCK).

    back : float32 (2 width, 4 width), `weight` of `attend` transposed; gradient : float32 (n, 2 width), of the last
    [h, s]; states, gates, cells, attention as `attend` returned them
    """
    n, width = len(start) - 1, memory.shape[1]
    rounds, blocks, longest, _ = attention.shape
    by_memory = np.empty(memory.shape, dtype=np.float32)
    by_gates = np.empty(gates.shape, dtype=np.float32)
    loaded = np.empty((longest, width, BLOCK), dtype=np.float32)
    by_loaded = np.empty((longest, width, BLOCK), dtype=np.float32)
    flow = np.empty((2 * width, BLOCK), dtype=np.float32)  # the gradient of [h, s]
    by_cell = np.empty((width, BLOCK), dtype=np.float32)
    for b in range(blocks):
        begin, size = b * BLOCK, min(BLOCK, n - b * BLOCK)
        count = _load(memory, start, begin, loaded)
        by_loaded[:], by_cell[:], flow[:] = _ZERO, _ZERO, _ZERO
        for q in range(size):
            for k in range(2 * width):
                flow[k, q] = gradient[begin + q, k]
        for t in range(rounds - 1, -1, -1):
            _read_back(loaded, states[t, b], attention[t, b], flow, by_loaded)
            _step_back(gates[t, b], cells[max(t - 1, 0), b], cells[t, b], flow, by_cell, by_gates[t, b], t == 0)
            if t > 0:
                flow[:] = _ZERO
                _add_product(back, by_gates[t, b], flow)
        for q in range(size):
            for j in range(count[q]):
                for k in range(width):
                    by_memory[start[begin + q] + j, k] = by_loaded[j, k, q]
    return by_memory, by_gates


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def _step_back(gate, before, cell, flow, by_cell, by_gate, first):  # type: ignore[no-untyped-def]
    """The gradient of the gates before activation from that of h, flow's first half, and of the cell, now the earlier
    cell's.
    """
    width = len(cell)
    for k in range(width):
        for q in range(BLOCK):
            i, f, g, o = gate[k, q], gate[width + k, q], gate[2 * width + k, q], gate[3 * width + k, q]
            squashed = _tanh(cell[k, q])
            down = by_cell[k, q] + flow[k, q] * o * (_ONE - squashed * squashed)
            by_gate[k, q] = down * g * i * (_ONE - i)
            by_gate[width + k, q] = _ZERO if first else down * before[k, q] * f * (_ONE - f)
            by_gate[2 * width + k, q] = down * i * (_ONE - g * g)
            by_gate[3 * width + k, q] = flow[k, q] * squashed * o * (_ONE - o)
            by_cell[k, q] = down * f


@njit(cache=True, nogil=True, fastmath={"contract"})
def _read_back(loaded, state, attention, flow, by_loaded):  # type: ignore[no-untyped-def]
    """Add what flows back through a reading to the memories' gradient and to that of h, flow's first half."""
    longest, width, _ = loaded.shape
    mean = np.zeros(BLOCK, dtype=np.float32)  # sum_j a_j (m_j . ds) = s . ds
    by_score = np.empty(BLOCK, dtype=np.float32)
    for k in range(width):
        for q in range(BLOCK):
            mean[q] += state[width + k, q] * flow[width + k, q]
    for j in range(longest):
        for q in range(BLOCK):
            by_score[q] = -mean[q]
        for k in range(width):
            for q in range(BLOCK):
                by_score[q] += loaded[j, k, q] * flow[width + k, q]
        for q in range(BLOCK):
            by_score[q] *= attention[j, q]
        for k in range(width):
            for q in range(BLOCK):
                flow[k, q] += by_score[q] * loaded[j, k, q]
                by_loaded[j, k, q] += attention[j, q] * flow[width + k, q] + by_score[q] * state[k, q]

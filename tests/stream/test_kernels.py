"""Every kernel of the streams against slow and obvious code: ties, NaN, zeros of both signs, numbers of all sizes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synafa.information.labels import rows_by_class
from synafa.stream.kernels import bits, columns
from synafa.stream.opened import _at_most, _below, class_starts
from synafa.table.sums import CHUNKS, OFTEN, exact_mean
from tests import naive_stream as naive

pytestmark = pytest.mark.slow

TYPES = {"float32": np.float32, "float64": np.float64}
kinds = st.sampled_from(["normal", "ties", "zeros", "scales", "spans", "one"])
sizes = st.one_of(st.integers(1, 200), st.integers(OFTEN - 2, 3 * OFTEN))
seeds = st.integers(0, 10**6)
quickly = settings(max_examples=40, deadline=None)


def numbers(kind: str, n: int, seed: int, dtype: type = np.float64, missing: float = 0.0) -> np.ndarray:
    """A column of a kind, with a share of NaN."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    values = {
        "normal": x,
        "ties": (2 * x).round() / 2,
        "zeros": np.where(x > 1, x, np.where(x > 0, 0.0, -0.0)),
        "scales": x * 10.0 ** rng.integers(-37, 37, n),
        "spans": x * 2.0 ** rng.integers(-12, 12, n),
        "one": np.full(n, -1.5),
    }[kind].astype(dtype)
    values[rng.random(n) < missing] = np.nan
    return values


def plain(values: np.ndarray) -> list[float]:
    return values.astype(np.float64).tolist()


@quickly
@given(kinds, sizes, seeds, st.sampled_from(list(TYPES)), st.booleans())
def test_what_is_present_and_the_first_infinite_value(kind, n, seed, dtype, infinite):
    values = numbers(kind, n, seed, TYPES[dtype], 0.2)
    if infinite:
        values[seed % n :: 7] = -np.inf
    doubles = np.empty(n)
    there, odd = columns.present(values, doubles)
    expected = naive.present(plain(values))
    assert doubles[:there].tobytes() == np.array(expected, np.float64).tobytes()
    assert odd == naive.first_infinite(plain(values))


@quickly
@given(kinds, sizes, seeds, st.integers(1, 20))
def test_sums_extremes_and_few_values_of_a_column_that_comes_in_pieces(kind, n, seed, room):
    values = numbers(kind, n, seed)
    chunks, three, few, n_few = np.zeros(CHUNKS, np.int64), np.array([np.inf, -np.inf, -np.inf]), np.zeros(room), 0
    for piece in np.array_split(values, 3):
        columns.add_sum(chunks, piece)
        columns.extremes(piece, three)
        n_few = columns.distinct(piece, few, n_few)
    assert exact_mean(chunks, n) == naive.mean(values.tolist())
    assert three.tolist() == naive.extremes(values.tolist())
    assert few[:n_few].tolist() == naive.distinct(values.tolist(), room)


@quickly
@given(kinds, sizes, seeds, st.booleans())
def test_a_bracket_keeps_what_is_in_it_and_counts_what_is_below(kind, n, seed, open_ended):
    values = numbers(kind, n, seed)
    low, high = np.sort(np.random.default_rng(seed).choice(values, 2))
    low, high = (-np.inf, high) if open_ended else (low, high)
    room, kept, below, rest = np.empty(OFTEN), [], 0, values
    while rest.size:
        read, under, at = columns.bracket(rest, low, high, room, 0)
        assert read, "nothing was read, with room for all"
        kept, below, rest = kept + room[:at].tolist(), below + under, rest[read:]
    assert kept == [x for x in values.tolist() if low <= x <= high]
    assert below == sum(x < low for x in values.tolist())
    first_read, *_ = columns.bracket(values, -np.inf, np.inf, np.empty(0), 0)
    assert first_read == 0, "values without room are left for later"


@quickly
@given(kinds, sizes, seeds)
def test_buckets_count_by_the_distance_of_doubles(kind, n, seed):
    values = numbers(kind, n, seed) + 0.0
    low, high = np.sort(np.random.default_rng(seed).choice(values, 2))
    shift = max(0, (naive.key(high) - naive.key(low)).bit_length() - 6)
    histogram = np.zeros(64, np.int64)
    below = columns.buckets(values, low, high, np.int64(naive.key(low)), np.uint64(shift), histogram)
    expected, inside = naive.buckets(values.tolist(), low, high, shift)
    assert below == expected
    assert {i: count for i, count in enumerate(histogram.tolist()) if count} == dict(inside)


@quickly
@given(sizes, seeds)
def test_bytes_and_counted_values_are_counted(n, seed):
    rng = np.random.default_rng(seed)
    values = rng.choice(np.array([0, 1, 7, 200, 255], np.uint8), n)
    counts = np.full(256, 3, np.int64)
    columns.histogram_bytes(values, counts)
    assert counts.tolist() == [3 + values.tolist().count(b) for b in range(256)]
    mine, often = np.unique(numbers("ties", n, seed), return_counts=True)
    theirs = np.sort(numbers("ties", n // 2, seed + 1))
    ones = rng.integers(1, 9, theirs.size)
    found, total = columns.merge_counted(mine, often, theirs, ones)
    expected, times = naive.merged(mine.tolist(), often.tolist(), theirs.tolist(), ones.tolist())
    assert found.tolist() == expected
    assert total.tolist() == times


@quickly
@given(kinds, sizes, seeds, st.sampled_from([2, 3, 5]), st.booleans(), st.sampled_from([1, 3, 9, 70]))
def test_codes_become_planes_in_the_order_of_rows_and_of_classes(kind, n, seed, n_bins, missing, n_classes):
    values = numbers(kind, n, seed, missing=0.2 if missing else 0.0)
    edges = np.sort(np.random.default_rng(seed).choice(np.nan_to_num(values), n_bins - 1))
    fill, n_planes = n_bins if missing else 0, n_bins - 1 + missing
    y = np.random.default_rng(seed + 1).integers(0, n_classes, n)
    order, starts = rows_by_class(y, n_classes)
    expected = naive.planes(values.tolist(), edges.tolist(), fill, n_planes)
    by_row = np.empty((n_planes, -(-n // 64)), np.uint64)
    bits.code_column(values, edges, fill, by_row)
    assert [naive.bits(plane, n) for plane in by_row] == expected
    grouped = [naive.by_class(plane, y.tolist(), starts.tolist()) for plane in expected]
    found = {name: np.empty((n_planes, starts[-1]), np.uint64) for name in ("packed", "few", "many")}
    columns.pack_column(values, order, edges, fill, found["packed"])
    bits.by_class_few(by_row, *bits.class_moves(y, n_classes), starts, found["few"])
    bits.by_class_many(by_row, order, found["many"])
    assert class_starts(np.bincount(y, minlength=n_classes)).tolist() == starts.tolist()
    for name, planes in found.items():
        assert [naive.bits(plane, 64 * starts[-1]) for plane in planes] == grouped, name


@quickly
@given(st.integers(1, 150), st.integers(1, 300), seeds)
def test_planes_turned_around_are_the_bits_of_rows(n_planes, n, seed):
    rng = np.random.default_rng(seed)
    planes = rng.integers(0, 2**64, (n_planes, -(-n // 64)), np.uint64)
    wanted = np.flatnonzero(rng.random(n) < 0.3)
    found = np.empty((wanted.size, -(-n_planes // 64)), np.uint64)
    bits.rows_of(planes, wanted, found)
    table = [naive.bits(plane, n) for plane in planes]
    assert [naive.bits(row, n_planes) for row in found] == [[table[p][row] for p in range(n_planes)] for row in wanted]


@quickly
@given(kinds, st.integers(1, 200), seeds, st.sampled_from(list(TYPES)))
def test_sixty_four_values_against_an_edge(kind, n, seed, dtype):
    values = numbers(kind, n, seed, TYPES[dtype], 0.1)
    values[::11] = np.inf
    for edge in (values[seed % n], TYPES[dtype](0.0), TYPES[dtype](-np.inf)):
        for first in range(0, n, 64):
            expected = [int(x > edge) for x in values[first : first + 64].tolist()]
            padded = expected + [0] * (64 - len(expected))
            for kernel in (bits.above_64, bits._above_each):
                assert naive.bits([kernel(values, first, edge)], 64) == padded


@quickly
@given(kinds, sizes, seeds, st.sampled_from(list(TYPES)), st.sampled_from([2, 4]), st.sampled_from([0.0, 0.2, 1.0]))
def test_one_look_at_a_column_finds_what_many_looks_find(kind, n, seed, dtype, n_bins, missing):
    values = numbers(kind, n, seed, TYPES[dtype], missing)
    rng = np.random.default_rng(seed)
    ends = np.sort(rng.choice(numbers(kind, n, seed), (n_bins - 1, 3)), axis=1)  # of each edge: low, edge, high
    ends = ends[np.argsort(ends[:, 1], kind="stable")]
    lows, edges, highs = ends.T
    kept, told, room = np.empty((n_bins - 1, n)), np.ones((3, n_bins - 1), np.int64), (n_bins - 1) * n + 5
    row, value, code = np.empty(room, np.int32), np.empty(room), np.empty(room, np.uint8)
    limits = np.stack(
        [_at_most(edges, values.dtype), _below(lows, values.dtype), _at_most(highs, values.dtype)], axis=1
    )
    planes = np.zeros((n_bins - 1 + (missing > 0), -(-n // 64)), np.uint64)
    chunks, three, few = np.zeros(CHUNKS, np.int64), np.array([np.inf, -np.inf, -np.inf]), np.zeros(n_bins + 1)
    fill = n_bins if missing else 0
    whole = np.int32 if values.itemsize == 4 else np.int64

    def look(column):
        window, room = (limits, lows.copy(), lows == highs), (kept, told, row, value, code)
        asked = column, column.view(whole), whole(np.iinfo(whole).max), window, fill, planes
        return bits.read_column(*asked, room, 5, (chunks, three, few), 0)

    gone, odd, n_open, n_few = look(values)
    there = naive.present(plain(values))
    assert (gone, odd) == (n - len(there), -1)
    assert exact_mean(chunks, len(there)) == naive.mean(there)
    assert three.tolist() == naive.extremes(there)
    assert few[:n_few].tolist() == naive.distinct(there, n_bins + 1)
    assert [naive.bits(plane, n) for plane in planes] == naive.planes(plain(values), edges.tolist(), fill, len(planes))
    waiting = []
    for e, (low, _, high) in enumerate(ends.tolist()):
        inside = [(i, x + 0.0) for i, x in enumerate(plain(values)) if low <= x <= high]
        assert low == high or kept[e, : told[0, e]].tolist() == [x for _, x in inside]
        mine = [(i, x, sum(x > edge for edge in edges.tolist())) for i, x in inside if x > low]
        assert told[:, e].tolist() == [len(inside), sum(x >= low for x in there), len(mine)]
        waiting += mine
    found = zip(row[5:n_open].tolist(), value[5:n_open].tolist(), code[5:n_open].tolist())
    assert sorted(found) == sorted(waiting)
    values[n // 2] = np.inf
    assert look(values)[1] == n // 2, "the first infinite value is found"


@pytest.mark.parametrize("dtype", list(TYPES))
def test_limits_of_another_type_compare_as_doubles_do(dtype):
    rng = np.random.default_rng(0)
    edges = np.concatenate([rng.normal(size=200), rng.normal(size=50) * 1e300, [0.0, -0.0, np.inf, -np.inf, 1e-320]])
    kind = TYPES[dtype]
    with np.errstate(over="ignore"):
        near = edges.astype(kind)
    values = np.concatenate([near, np.nextafter(near, kind(np.inf)), np.nextafter(near, kind(-np.inf))])
    at_most, below = _at_most(edges, np.dtype(kind)), _below(edges, np.dtype(kind))
    for value in values.tolist():
        assert ((kind(value) > at_most) == (value > edges)).all()
        assert ((kind(value) > below) == (value >= edges))[edges > -np.inf].all()

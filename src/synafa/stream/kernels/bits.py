"""One look at a column of a batch: its exact sum and extremes, a bit a row for every edge, and what lies in brackets.

Bits come in the order of the rows; `by_class_few` and `by_class_many` bring them into the order in which pairs are
counted, class after class. Values are compared in their own type with limits that were rounded so that the outcome is
that of a comparison of doubles.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from synafa.information.kernels.counts import popcount
from synafa.information.kernels.switch import CACHE, PLAIN
from synafa.stream.kernels.columns import distinct, extremes, present
from synafa.table.sums import OFTEN, add_close, add_doubles, add_exact, carry

FEW_CLASSES = 8  # up to so many, a word is compressed once for every class


@intrinsic
def _above(typingctx: Any, example: Any, address: Any, edge: Any) -> Any:
    """Bit i of the result: whether value i of the 64 at an address exceeds the edge."""
    real, size = (ir.FloatType(), 4) if example == types.float32 else (ir.DoubleType(), 8)
    vector, small = ir.VectorType(real, 64), ir.IntType(32)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        _, address, edge = args
        values = builder.load(builder.inttoptr(address, vector.as_pointer()), align=size)
        first = builder.insert_element(ir.Constant(vector, ir.Undefined), edge, ir.Constant(small, 0))
        spread = builder.shuffle_vector(first, first, ir.Constant(ir.VectorType(small, 64), [0] * 64))
        return builder.bitcast(builder.fcmp_ordered(">", values, spread), ir.IntType(64))

    return types.uint64(example, types.intp, example), codegen


@njit(cache=CACHE, nogil=True)
def _above_each(values, first, edge):  # type: ignore[no-untyped-def]
    """The same of the at most 64 values from `first` on, one by one."""
    word = np.uint64(0)
    for i in range(first, min(first + 64, values.size)):
        word |= np.uint64(values[i] > edge) << np.uint64(i - first)
    return word


if PLAIN:
    above_64 = _above_each
else:

    @njit(cache=True, nogil=True)
    def above_64(values, first, edge):  # type: ignore[no-untyped-def]
        """Which of the at most 64 values from `first` on exceed the edge."""
        if first + 64 > values.size:
            return _above_each(values, first, edge)
        return _above(edge, values.ctypes.data + first * values.itemsize, edge)


@njit(cache=True, nogil=True)
def _extent(bits, sizes):  # type: ignore[no-untyped-def]
    """Of floating-point numbers given by their bits: the least size but 0, less 1, and the ends.

    Of nothing but zeros the least size is `sizes`; a NaN is an end, beyond infinity.

    sizes : the bits that say how large a number is, all but the sign, in the type of `bits`
    """
    top = bits.itemsize * 8 - 1
    smallest, least, most = sizes, sizes, ~sizes
    for i in range(bits.size):
        key = bits[i] ^ ((bits[i] >> top) & sizes)  # in the order of the numbers
        before = (bits[i] - 1) & sizes  # 0 comes last
        smallest = before if before < smallest else smallest
        least = key if key < least else least
        most = key if key > most else most
    return smallest, least ^ ((least >> top) & sizes), most ^ ((most >> top) & sizes)


@njit(cache=True, nogil=True)
def _exponent(values, largest):  # type: ignore[no-untyped-def]
    """The exponent, as a double has it, of a number's size."""
    if values.itemsize == 4:
        return (np.int64(largest) >> np.int64(23)) + np.int64(1023 - 127)
    return np.int64(largest) >> np.int64(52)


@njit(cache=True, nogil=True)
def _add_all(chunks, values, largest, smallest, doubles, one):  # type: ignore[no-untyped-def]
    """Add at most OFTEN finite values, whose largest and smallest sizes are known, to an exact sum; the caller carries.

    Numbers of 24 bits whose exponents are at most 20 apart, 512 of them, add up exactly in 53 bits.
    """
    if values.itemsize == 4:
        first, last = np.int64(smallest + 1) >> np.int64(23), np.int64(largest) >> np.int64(23)
        if last == 0 and largest == 0:
            return
        if first > 0 and last - first <= 20:
            add_exact(chunks, values, one)
            return
    if not add_close(chunks, values, _exponent(values, largest), one):
        present(values, doubles)
        add_doubles(chunks, doubles[: values.size])


@njit(cache=True, nogil=True)
def _keep(values, first, inside, e, limits, lows, kept, told, row, value, code, n_open):  # type: ignore[no-untyped-def]
    """Take the values whose bits are set, those above the bracket's low end as open; how many are open then."""
    while inside:
        at = first + np.int64(popcount((inside - np.uint64(1)) & ~inside))
        number = np.float64(values[at]) + 0.0
        kept[e, told[0, e]] = number
        told[0, e] += 1
        if number > lows[e]:
            row[n_open], value[n_open], code[n_open] = at, number, 0
            for other in range(limits.shape[0]):
                code[n_open] += values[at] > limits[other, 0]
            n_open += 1
            told[2, e] += 1
        inside &= inside - np.uint64(1)
    return n_open


@njit(cache=CACHE, nogil=True)
def read_column(values, bits, sizes, window, fill, planes, room, n_open, sums, n_few):  # type: ignore[no-untyped-def]
    """Read float32 or float64 values; returns how many are missing, the first infinite one's row or -1, n_open, n_few.

    bits, sizes : the values as integers of the same width, and the bits of those that are not the sign
    window : three arrays
        limits : (edges, 3), of the values' type: a value is beyond the edge, not below the bracket, beyond the bracket
            when it exceeds the first, second, third
        lows : float64 (edges,): a value in the bracket is open when it exceeds this
        single : bool (edges,): whether the bracket is one value, so that it is enough to count
    fill : the code of a missing value; 0 where none is expected
    planes : uint64 (edges, words), filled: bit r of plane b is set when row r has code b + 1; a plane more, of zeros,
        where the code of a missing value is above the others
    room : five arrays
        kept : float64 (edges, n), filled: the values in each bracket
        told : int64 (3, edges), filled: how many are in each bracket, not below it, and open
        row, value, code : filled from `n_open` on: the open values' rows, themselves, and their codes by the edges
    sums, n_few : exact sum, extremes and few distinct values so far, updated
    """
    (limits, lows, single), (kept, told, row, value, code), (chunks, three, few) = window, room, sums
    n_edges, missing = limits.shape[0], 0
    told[:] = 0
    doubles, one, ends = np.empty(OFTEN), np.empty(1), np.empty(2, bits.dtype)
    real, top = ends.view(values.dtype), bits.itemsize * 8 - 1
    infinite = (sizes >> (top - (8 if bits.itemsize == 4 else 11))) << (23 if bits.itemsize == 4 else 52)
    for first in range(0, values.size, OFTEN):
        part, mine = values[first : first + OFTEN], bits[first : first + OFTEN]
        smallest, ends[0], ends[1] = _extent(mine, sizes)
        largest = max(ends[0] & sizes, ends[1] & sizes)
        gaps = largest >= infinite
        if gaps:
            there, odd = present(part, doubles)
            if odd >= 0:
                return missing, first + odd, n_open, n_few
            missing += part.size - there
            add_doubles(chunks, doubles[:there])
            extremes(doubles[:there], three)
            n_few = distinct(doubles[:there], few, n_few)
        else:
            _add_all(chunks, part, largest, smallest, doubles, one)
            if first % (64 * OFTEN) == 0:
                carry(chunks)
            if real[0] < three[0] or real[1] > three[1] or n_few < few.size:
                present(part, doubles)
                extremes(doubles[: part.size], three)
                n_few = distinct(doubles[: part.size], few, n_few)
        for start in range(first, first + part.size, 64):
            w = start // 64
            for e in range(n_edges):
                planes[e, w] = above_64(values, start, limits[e, 0])
                upward = above_64(values, start, limits[e, 1])
                inside = upward & ~above_64(values, start, limits[e, 2])
                told[1, e] += np.int64(popcount(upward))
                if single[e]:
                    told[0, e] += np.int64(popcount(inside))
                elif inside:
                    n_open = _keep(values, start, inside, e, limits, lows, kept, told, row, value, code, n_open)
            for e in range(n_edges - 1):
                planes[e, w] &= ~planes[e + 1, w]
            if gaps and fill:
                for i in range(start, min(start + 64, values.size)):
                    planes[fill - 1, w] |= np.uint64(values[i] != values[i]) << np.uint64(i - start)
    carry(chunks)
    return missing, -1, n_open, n_few


@njit(cache=True, nogil=True)
def code_column(values, edges, fill, planes):  # type: ignore[no-untyped-def]
    """Fill the planes (edges, words) of values of any type, bits in the order of the rows."""
    planes[:] = np.uint64(0)
    for row in range(values.size):
        value = np.float64(values[row])
        code = 0
        for e in range(edges.size):
            code += value > edges[e]
        code = fill if value != value else code
        if code:
            planes[code - 1, row // 64] |= np.uint64(1) << np.uint64(row % 64)


@njit(cache=True, nogil=True)
def class_moves(indices, n_classes):  # type: ignore[no-untyped-def]
    """How the bits of each class move together at the low end of a word: masks (K, words), moves (K, 6, words).

    Step i moves bits by 2^i places; see Hacker's Delight, section 7-4.
    """
    words = (indices.size + 63) // 64
    masks, moves = np.zeros((n_classes, words), np.uint64), np.empty((n_classes, 6, words), np.uint64)
    for row in range(indices.size):
        masks[indices[row], row // 64] |= np.uint64(1) << np.uint64(row % 64)
    for y in range(n_classes):
        for w in range(words):
            mask = masks[y, w]
            gaps = ~mask << np.uint64(1)
            for i in range(6):
                odd = gaps ^ (gaps << np.uint64(1))
                for step in range(1, 6):
                    odd ^= odd << np.uint64(1 << step)
                move = odd & mask
                moves[y, i, w] = move
                mask = (mask ^ move) | (move >> np.uint64(1 << i))
                gaps &= ~odd
    return masks, moves


@njit(cache=True, nogil=True)
def _compress(plane, mask, moves, words):  # type: ignore[no-untyped-def]
    """Each word's bits under the mask, moved together."""
    for w in range(plane.size):
        words[w] = plane[w] & mask[w]
    for i in range(6):
        step, move = np.uint64(1 << i), moves[i]
        for w in range(plane.size):
            moving = words[w] & move[w]
            words[w] = (words[w] ^ moving) | (moving >> step)


@njit(cache=True, nogil=True)
def by_class_few(planes, masks, moves, starts, grouped):  # type: ignore[no-untyped-def]
    """Bits in the order of the rows to bits class after class, each class from its word in `starts` on."""
    words = np.empty(planes.shape[1], np.uint64)
    for p in range(planes.shape[0]):
        grouped[p] = np.uint64(0)
        for y in range(masks.shape[0]):
            _compress(planes[p], masks[y], moves[y], words)
            place = 64 * starts[y]
            for w in range(words.size):
                size, word, free = np.int64(popcount(masks[y, w])), place // 64, place % 64
                grouped[p, word] |= words[w] << np.uint64(free)
                if free + size > 64:
                    grouped[p, word + 1] = words[w] >> np.uint64(64 - free)
                place += size


@njit(cache=True, nogil=True)
def by_class_many(planes, order, grouped):  # type: ignore[no-untyped-def]
    """The same, bit by bit: `order` lists a row for each bit, -1 for padding."""
    for p in range(planes.shape[0]):
        plane = planes[p]
        for w in range(grouped.shape[1]):
            word = np.uint64(0)
            for bit in range(64):
                row = order[64 * w + bit]
                if row >= 0:
                    word |= (plane[row // 64] >> np.uint64(row % 64) & np.uint64(1)) << np.uint64(bit)
            grouped[p, w] = word


@njit(cache=True, nogil=True)
def _transpose_64(block):  # type: ignore[no-untyped-def]
    """Turn 64 words of 64 bits around, in place."""
    width, mask = 32, np.uint64(0xFFFFFFFF)
    while width:
        for k in range(0, 64, 2 * width):
            for i in range(k, k + width):
                moved = ((block[i] >> np.uint64(width)) ^ block[i + width]) & mask
                block[i] ^= moved << np.uint64(width)
                block[i + width] ^= moved
        width //= 2
        mask ^= mask << np.uint64(width)


@njit(cache=True, nogil=True)
def rows_of(planes, wanted, found):  # type: ignore[no-untyped-def]
    """The bits of all planes of the wanted rows (ascending) as words: found (rows, planes / 64, rounded up)."""
    block = np.empty(64, np.uint64)
    for group in range(found.shape[1]):
        there = min(64, planes.shape[0] - 64 * group)
        i = 0
        while i < wanted.size:
            w = wanted[i] // 64
            block[:] = np.uint64(0)
            for p in range(there):
                block[p] = planes[64 * group + p, w]
            _transpose_64(block)
            while i < wanted.size and wanted[i] // 64 == w:
                found[i, group] = block[wanted[i] % 64]
                i += 1

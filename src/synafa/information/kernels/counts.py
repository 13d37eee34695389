"""Bit-packed planes and their population counts.

A plane is the indicator of one code (1, 2, ...) of one feature; code 0 follows from the margins. Rows are grouped by
class and every class starts at a fresh 64-bit word, so one AND and one population count give a joint count per class.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, prange, types
from numba.core import cgutils
from numba.extending import intrinsic

from synafa.information.kernels.switch import CACHE, PLAIN

PLACES = 4  # binary digits carried along while counting
WORDS = 2**PLACES  # words of a class are counted in groups of this many
LANES = 8  # planes that stay in cache, side by side, while the others are counted against them


@intrinsic
def popcount(typingctx: Any, word: Any) -> Any:
    """The number of ones in a 64-bit word, as one machine instruction where there is one."""
    signature = types.uint64(types.uint64)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ctpop(args[0])

    return signature, codegen


@njit(parallel=True, cache=CACHE)
def pack_planes(codes: np.ndarray, order: np.ndarray, n_planes: int) -> np.ndarray:
    """Planes, uint64 (D * n_planes, words); `order` lists a row for each bit, -1 for padding."""
    d = codes.shape[1]
    words = order.size // 64
    by_word = np.empty((words, n_planes * d), np.uint64)
    for w in prange(words):
        for p in range(n_planes * d):
            by_word[w, p] = 0
        for bit in range(64):
            row = order[64 * w + bit]
            if row < 0:
                continue
            for b in range(n_planes):
                code = np.uint8(b + 1)
                for j in range(d):
                    by_word[w, b * d + j] |= np.uint64(codes[row, j] == code) << np.uint64(bit)
    planes = np.empty((d * n_planes, words), np.uint64)
    for j in prange(d):
        for b in range(n_planes):
            for w in range(words):
                planes[j * n_planes + b, w] = by_word[w, b * d + j]
    return planes


@njit(parallel=True, cache=CACHE)
def single_counts(planes: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Rows of each class in each plane, int64 (K, P); class y occupies words starts[y]..starts[y+1]."""
    n_classes = starts.size - 1
    counts = np.empty((n_classes, planes.shape[0]), np.int64)
    for p in prange(planes.shape[0]):
        for y in range(n_classes):
            total = np.uint64(0)
            for w in range(starts[y], starts[y + 1]):
                total += popcount(planes[p, w])
            counts[y, p] = np.int64(total)
    return counts


@intrinsic
def _count_common(typingctx: Any, tile: Any, plane: Any, groups: Any, totals: Any) -> Any:
    """Write to `totals` (LANES) the ones that `groups` of WORDS words of a plane share with each plane of a tile.

    `tile`, `plane` and `totals` are addresses; the tile holds word w of its planes side by side, so that a vector
    instruction serves four planes. Words are added place by place into ones, twos, fours and eights that are carried
    along, so that sixteen words need a single population count.
    """
    word, small = ir.IntType(64), ir.IntType(32)
    vector = ir.VectorType(word, 4)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        tile, plane, groups, totals = args
        population = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(vector, [vector]), "llvm.ctpop.v4i64"
        )

        def offset(address: Any, index: Any, size: int) -> Any:
            return builder.add(address, builder.mul(index, ir.Constant(word, size)))

        def pointer(address: Any, offset: int, kind: Any) -> Any:
            return builder.inttoptr(builder.add(address, ir.Constant(word, offset)), kind.as_pointer())

        def add(a: Any, b: Any, c: Any) -> tuple[Any, Any]:
            either = builder.xor(a, b)
            return builder.xor(either, c), builder.or_(builder.and_(a, b), builder.and_(either, c))

        def common(one: Any, four: Any, w: int) -> Any:
            """Word w of a plane AND those of four planes of the tile."""
            first = builder.insert_element(
                ir.Constant(vector, ir.Undefined), builder.load(pointer(one, 8 * w, word)), ir.Constant(small, 0)
            )
            spread = builder.shuffle_vector(first, first, ir.Constant(ir.VectorType(small, 4), [0] * 4))
            return builder.and_(builder.load(pointer(four, 8 * LANES * w, vector), align=8), spread)

        def carry(digits: list[Any], one: Any, four: Any, w: int, place: int) -> Any:
            """Add 2 ** place words, from w on, to the digits below that place; returns what is carried into it."""
            if place == 0:
                return common(one, four, w)
            left = carry(digits, one, four, w, place - 1)
            right = carry(digits, one, four, w + 2 ** (place - 1), place - 1)
            total, over = add(builder.load(digits[place - 1]), left, right)
            builder.store(total, digits[place - 1])
            return over

        nothing = ir.Constant(vector, [0] * 4)
        for lane in range(0, LANES, 4):
            digits = [cgutils.alloca_once(builder, vector) for _ in range(PLACES + 1)]  # the last counts the carries
            for digit in digits:
                builder.store(nothing, digit)
            with cgutils.for_range(builder, groups) as loop:
                one, four = offset(plane, loop.index, 8 * WORDS), offset(tile, loop.index, 8 * WORDS * LANES)
                carried = carry(digits, one, builder.add(four, ir.Constant(word, 8 * lane)), 0, PLACES)
                ones = builder.call(population, [carried])
                builder.store(builder.add(builder.load(digits[-1]), ones), digits[-1])
            total = builder.shl(builder.load(digits[-1]), ir.Constant(vector, [PLACES] * 4))
            for place, digit in enumerate(digits[:-1]):
                ones = builder.call(population, [builder.load(digit)])
                total = builder.add(total, builder.shl(ones, ir.Constant(vector, [place] * 4)))
            builder.store(total, pointer(totals, 8 * lane, vector), align=8)
        return context.get_dummy_value()

    return types.void(types.intp, types.intp, types.intp, types.intp), codegen


if PLAIN:

    @njit
    def count_common(tile, planes, p, start, words, totals):  # type: ignore[no-untyped-def]
        """Write to `totals` (LANES) the ones that plane p shares, over `words` words, with each plane of the tile."""
        for c in range(LANES):
            total = np.uint64(0)
            for w in range(words):
                total += popcount(tile[w, c] & planes[p, start + w])
            totals[c] = total

else:

    @njit(cache=True)
    def count_common(tile, planes, p, start, words, totals):  # type: ignore[no-untyped-def]
        """The same in vector instructions."""
        plane = planes.ctypes.data + 8 * (p * planes.shape[1] + start)
        _count_common(tile.ctypes.data, plane, words // WORDS, totals.ctypes.data)


@njit(parallel=True, cache=CACHE)
def add_pair_counts(planes: np.ndarray, starts: np.ndarray, joint: np.ndarray) -> None:
    """Add to `joint`, int64 (K, P, P), the rows of each class that are in both planes p < q (upper triangle only).

    Every class occupies whole groups of WORDS words.
    """
    n_planes = planes.shape[0]
    tiles = (n_planes + LANES - 1) // LANES
    longest = (starts[1:] - starts[:-1]).max()
    for index in prange(tiles):
        number = index // 2 if index % 2 == 0 else tiles - 1 - index // 2  # short and long columns in turn
        first = LANES * number
        width = min(LANES, n_planes - first)
        tile = np.zeros((longest, LANES), np.uint64)  # the words of one class: stays in cache while planes pass by
        totals = np.empty(LANES, np.uint64)
        for y in range(starts.size - 1):
            words = starts[y + 1] - starts[y]
            for c in range(width):
                for w in range(words):
                    tile[w, c] = planes[first + c, starts[y] + w]
            for p in range(first + width - 1):
                count_common(tile, planes, p, starts[y], words, totals)
                for c in range(max(0, p + 1 - first), width):
                    joint[y, p, first + c] += np.int64(totals[c])

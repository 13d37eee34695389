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

WORDS = 15  # words of a class are counted in groups of this many
LANES = 8  # planes that stay in cache, side by side, while the others are counted against them


@intrinsic
def popcount(typingctx: Any, word: Any) -> Any:
    """The number of ones in a 64-bit word, as one machine instruction where there is one."""
    signature = types.uint64(types.uint64)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ctpop(args[0])

    return signature, codegen


@njit(parallel=True, cache=True)
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


@njit(parallel=True, cache=True)
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
def _count_common(typingctx: Any, tile: Any, plane: Any, totals: Any) -> Any:
    """Add to `totals` (LANES) the ones that WORDS words of a plane share with those of each plane of a tile.

    The three are addresses; the tile holds word w of its planes side by side, so that a vector instruction serves four
    planes. The fifteen words are added place by place into ones, twos, fours and eights: four population counts.
    """
    word, small = ir.IntType(64), ir.IntType(32)
    vector = ir.VectorType(word, 4)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        def pointer(address: Any, offset: int, kind: Any) -> Any:
            return builder.inttoptr(builder.add(address, ir.Constant(word, offset)), kind.as_pointer())

        def load(address: Any, offset: int) -> Any:
            return builder.load(pointer(address, offset, vector), align=8)

        def common(w: int, lane: int) -> Any:
            one = builder.load(pointer(args[1], 8 * w, word))
            first = builder.insert_element(ir.Constant(vector, ir.Undefined), one, ir.Constant(small, 0))
            spread = builder.shuffle_vector(first, first, ir.Constant(ir.VectorType(small, 4), [0] * 4))
            return builder.and_(load(args[0], 8 * (LANES * w + lane)), spread)

        def add(a: Any, b: Any, c: Any) -> tuple[Any, Any]:
            either = builder.xor(a, b)
            return builder.xor(either, c), builder.or_(builder.and_(a, b), builder.and_(either, c))

        def digits(first: int, words: int, lane: int) -> list[Any]:
            """The number of ones in each place over `words` (one less than a power of two) words, in binary."""
            if words == 1:
                return [common(first, lane)]
            half = words // 2
            left, right = digits(first, half, lane), digits(first + half, half, lane)
            carry, result = common(first + 2 * half, lane), []
            for a, b in zip(left, right):
                total, carry = add(a, b, carry)
                result.append(total)
            return [*result, carry]

        ones = cgutils.get_or_insert_function(builder.module, ir.FunctionType(vector, [vector]), "llvm.ctpop.v4i64")
        for lane in range(0, LANES, 4):
            total = load(args[2], 8 * lane)
            for place, digit in enumerate(digits(0, WORDS, lane)):
                total = builder.add(total, builder.shl(builder.call(ones, [digit]), ir.Constant(vector, [place] * 4)))
            builder.store(total, pointer(args[2], 8 * lane, vector), align=8)
        return context.get_dummy_value()

    return types.void(types.intp, types.intp, types.intp), codegen


@njit(parallel=True, cache=True)
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
        totals = np.zeros(LANES, np.uint64)
        for y in range(starts.size - 1):
            words = starts[y + 1] - starts[y]
            for c in range(width):
                for w in range(words):
                    tile[w, c] = planes[first + c, starts[y] + w]
            for p in range(first + width - 1):
                totals[:] = 0
                plane = planes.ctypes.data + 8 * (p * planes.shape[1] + starts[y])
                for w in range(0, words, WORDS):
                    _count_common(tile.ctypes.data + 8 * LANES * w, plane + 8 * w, totals.ctypes.data)
                for c in range(max(0, p + 1 - first), width):
                    joint[y, p, first + c] += np.int64(totals[c])

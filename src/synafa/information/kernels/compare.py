"""Which of 64 rows exceed two edges, for several columns at once: the inner step of values to bit planes.

It is written in vector instructions, because edges, words and minima must stay in registers while the rows pass by; the
rows that come next are fetched ahead.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from synafa.information.kernels.switch import CACHE, PLAIN

LANES = 8  # columns handled together: one vector of float32


@intrinsic
def _compare(
    typingctx: Any, example: Any, at: Any, ahead: Any, shown: Any, column: Any, edges: Any, words: Any, seen: Any
) -> Any:
    """Fill LANES words, from `column` on, of both planes at `words`: bit i is whether row i exceeds the edge.

    at, ahead : addresses of 64 addresses of rows, those compared and those to be fetched
    shown : the bits that may be set
    edges, words, seen : addresses of three addresses each; lower and upper edge, their words, least value and a mark
        that is not zero once a value was NaN or infinite (`seen` has two)
    """
    real, width = (ir.FloatType(), 32) if example == types.float32 else (ir.DoubleType(), 64)
    bits, word, small = ir.IntType(width), ir.IntType(64), ir.IntType(32)
    values, lanes, wide = ir.VectorType(real, LANES), ir.VectorType(bits, LANES), ir.VectorType(word, LANES)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        _, at, ahead, shown, column, edges, words, seen = args
        offset = builder.mul(column, ir.Constant(word, width // 8))

        def address(table: Any, i: int) -> Any:
            return builder.load(builder.inttoptr(builder.add(table, ir.Constant(word, 8 * i)), word.as_pointer()))

        def pointer(base: Any, offset: Any, kind: Any) -> Any:
            return builder.inttoptr(builder.add(base, offset), kind.as_pointer())

        def load(base: Any, kind: Any) -> Any:
            return builder.load(pointer(base, offset, kind), align=width // 8)

        def longer(words: Any, value: Any, edge: Any) -> Any:
            """The words with one more bit in front of the others: whether the value exceeds the edge."""
            return builder.sub(builder.add(words, words), builder.sext(builder.fcmp_ordered(">", value, edge), lanes))

        byte = ir.IntType(8)
        prefetch = ir.FunctionType(ir.VoidType(), [byte.as_pointer(), small, small, small])
        fetch = cgutils.get_or_insert_function(builder.module, prefetch, "llvm.prefetch")
        lower, upper = load(address(edges, 0), values), load(address(edges, 1), values)
        least, mark = load(address(seen, 0), values), load(address(seen, 1), lanes)
        halves = []
        for half in (0, 32):
            some = above = ir.Constant(lanes, [0] * LANES)
            for i in range(half + 31, half - 1, -1):  # the last row first: it is moved up most
                value = load(address(at, i), values)
                to_come = pointer(address(ahead, i), offset, byte)
                builder.call(fetch, [to_come, *(ir.Constant(small, k) for k in (0, 2, 1))])  # read, kept in L2, data
                some, above = longer(some, value, lower), longer(above, value, upper)
                least = builder.select(builder.fcmp_ordered("<", value, least), value, least)
                mark = builder.or_(mark, builder.bitcast(builder.fsub(value, value), lanes))  # 0 if finite, else NaN
            halves.append((some, above))
        first = builder.insert_element(ir.Constant(wide, ir.Undefined), shown, ir.Constant(small, 0))
        shown = builder.shuffle_vector(first, first, ir.Constant(ir.VectorType(small, LANES), [0] * LANES))
        for plane in range(2):
            low, high = (half[plane] if width == 64 else builder.zext(half[plane], wide) for half in halves)
            both = builder.or_(low, builder.shl(high, ir.Constant(wide, [32] * LANES)))
            target = pointer(address(words, plane), builder.shl(column, ir.Constant(word, 3)), wide)
            builder.store(builder.and_(both, shown), target, align=8)
        builder.store(least, pointer(address(seen, 0), offset, values), align=width // 8)
        builder.store(mark, pointer(address(seen, 1), offset, lanes), align=width // 8)
        return context.get_dummy_value()

    return types.void(example, types.intp, types.intp, types.uint64, *[types.intp] * 4), codegen


@njit(cache=CACHE)
def locate(X, rows, w, at):  # type: ignore[no-untyped-def]
    """Fill `at` with the addresses of rows 64w.. of the list, and return which of them are there: -1 is not.

    In place of those stands row 0, so that there is something to compare; likewise beyond the list's end.
    """
    shown = np.uint64(0)
    for i in range(64):
        row = rows[64 * w + i] if 64 * w + i < rows.size else -1
        at[i] = X.ctypes.data + max(row, 0) * X.strides[0]
        shown |= np.uint64(row >= 0) << np.uint64(i)
    return shown


if PLAIN:

    @njit
    def compare_64(X, at, ahead, shown, lower, upper, some, above, least, mark):  # type: ignore[no-untyped-def]
        """Words (D,) of `x > lower` and `x > upper` over the 64 rows at `at`.

        least, mark : (D,), updated: the least value, and 0 as long as all values are finite
        """
        for j in range(some.size):
            low, high = np.uint64(0), np.uint64(0)
            for i in range(64):
                value = X[(at[i] - X.ctypes.data) // X.strides[0], j]
                low |= np.uint64(value > lower[j]) << np.uint64(i)
                high |= np.uint64(value > upper[j]) << np.uint64(i)
                least[j] = value if value < least[j] else least[j]
                if not np.isfinite(value):
                    mark[j] = 1
            some[j], above[j] = low & shown, high & shown

else:

    @njit(cache=True)
    def compare_64(X, at, ahead, shown, lower, upper, some, above, least, mark):  # type: ignore[no-untyped-def]
        """The same in vector instructions; X has at least LANES columns, side by side."""
        now, then = at.ctypes.data, ahead.ctypes.data
        edges = np.array([lower.ctypes.data, upper.ctypes.data])
        words = np.array([some.ctypes.data, above.ctypes.data])
        seen = np.array([least.ctypes.data, mark.ctypes.data])
        for j in range(0, some.size, LANES):
            column = min(j, some.size - LANES)  # the last vector overlaps the one before
            _compare(X[0, 0], now, then, shown, column, edges.ctypes.data, words.ctypes.data, seen.ctypes.data)

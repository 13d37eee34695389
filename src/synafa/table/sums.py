"""Exact sums of floating-point numbers, which do not depend on the order of the numbers or on how they were cut up.

A sum is kept as a wide integer: chunk i counts units of 2^(32 i - 1075). Every number adds its 53 bits to two
neighbouring chunks; carries are passed on before a chunk can overflow. Sums of parts are added chunk by chunk, and a
mean is one division of two integers, rounded once.
"""

from __future__ import annotations

import numpy as np
from numba import njit

CHUNKS = 68  # 32 bits each: from the least subnormal to beyond 2^31 times the largest double
OFTEN = 512  # numbers between two rounds of carrying: 512 times 2^53 stays below 2^62
_UNIT = 1075  # chunk 0 counts units of 2^-1075
_LOW = np.int64(0xFFFFFFFF)
_FRACTION = np.uint64((1 << 52) - 1)


@njit(cache=True, nogil=True)
def carry(chunks):  # type: ignore[no-untyped-def]
    """Pass on what exceeds 32 bits; the last chunk keeps the sign."""
    for i in range(chunks.size - 1):
        chunks[i + 1] += chunks[i] >> np.int64(32)
        chunks[i] &= _LOW


@njit(cache=True, nogil=True)
def _add(chunks, bits):  # type: ignore[no-untyped-def]
    """Add a finite double, given by its bits."""
    exponent = np.int64((bits >> np.uint64(52)) & np.uint64(0x7FF))
    fraction = np.int64(bits & _FRACTION) | (np.int64(exponent > 0) << np.int64(52))
    place = np.int64(max(exponent, np.int64(1)))
    index, shift = place >> 5, place & 31
    sign = np.int64(1) - np.int64(2) * np.int64(bits >> np.uint64(63))
    chunks[index] += sign * ((fraction << shift) & _LOW)
    chunks[index + 1] += sign * (fraction >> (np.int64(32) - shift))


@njit(cache=True, nogil=True)
def _largest_exponent(bits):  # type: ignore[no-untyped-def]
    """The biased exponent of the largest of some doubles, given by their bits, all finite."""
    largest = np.int64(0)
    for i in range(bits.size):
        size = np.int64(bits[i] & np.uint64(0x7FFFFFFFFFFFFFFF))
        largest = size if size > largest else largest
    return largest >> np.int64(52)


@njit(cache=True, nogil=True)
def _any(bits):  # type: ignore[no-untyped-def]
    """Whether a double, given by its bits, is neither 0 nor -0."""
    some = np.uint64(0)
    for i in range(bits.size):
        some |= bits[i]
    return some << np.uint64(1) != 0


@njit(cache=True, nogil=True, fastmath=True)
def _sum(values):  # type: ignore[no-untyped-def]
    """A sum in any order, for values of which every order gives the exact sum."""
    total = 0.0
    for i in range(values.size):
        total += values[i]
    return total


@njit(cache=True, nogil=True)
def _split(values, anchor, rest):  # type: ignore[no-untyped-def]
    """Round every value to a multiple of the anchor's last place; `rest` takes what is left over, exactly."""
    for i in range(values.size):
        rounded = (values[i] + anchor) - anchor
        rest[i] = values[i] - rounded
        values[i] = rounded


@njit(cache=True, nogil=True)
def _add_block(chunks, values, rest, copy):  # type: ignore[no-untyped-def]
    """Add at most OFTEN values of similar size by two roundings; False, and nothing done, where that is not exact.

    The anchor leaves room for the sum of all: 9 bits for 512 values and 2 to spare. What remains of a value has 53
    bits less 11 below the largest, so two roundings take in all that lies within 84 bits of it.
    """
    exponent = _largest_exponent(values.view(np.uint64))
    if not 200 < exponent < 1800:
        return exponent == 0 and not _any(values.view(np.uint64))
    anchor = 1.5 * 2.0 ** np.float64(exponent - 1023 + 12)
    for i in range(values.size):
        copy[i] = values[i]
    _split(copy, anchor, rest)
    high = _sum(copy)
    for i in range(values.size):
        copy[i] = rest[i]
    _split(copy, anchor * 2.0**-41, rest)
    if _any(rest.view(np.uint64)):
        return False
    parts = np.array([high, _sum(copy)]).view(np.uint64)
    _add(chunks, parts[0])
    _add(chunks, parts[1])
    return True


@njit(cache=True, nogil=True)
def _off_grid(values, anchor):  # type: ignore[no-untyped-def]
    """How many values are not multiples of the anchor's last place."""
    off = 0
    for i in range(values.size):
        value = np.float64(values[i])
        off += (value + anchor) - anchor != value
    return off


@njit(cache=True, nogil=True, fastmath=True)
def _sum_wide(values):  # type: ignore[no-untyped-def]
    """`_sum` of values of any type, in double precision."""
    total = 0.0
    for i in range(values.size):
        total += np.float64(values[i])
    return total


@njit(cache=True, nogil=True)
def add_exact(chunks, values, one):  # type: ignore[no-untyped-def]
    """Add values of which every order gives the exact sum; the caller carries. one : room for a number"""
    one[0] = _sum_wide(values)
    _add(chunks, one.view(np.uint64)[0])


@njit(cache=True, nogil=True)
def add_close(chunks, values, exponent, one):  # type: ignore[no-untyped-def]
    """Add at most OFTEN finite values in one step where that is exact, which is said; the caller carries.

    exponent : the biased exponent of the largest, as a double; one : room for a number
    """
    if not 200 < exponent < 1800:
        return False
    anchor = 1.5 * 2.0 ** np.float64(exponent - 1023 + 12)
    if _off_grid(values, anchor):
        return False
    add_exact(chunks, values, one)
    return True


@njit(cache=True, nogil=True)
def add_doubles(chunks, values):  # type: ignore[no-untyped-def]
    """Add float64 values, all finite."""
    bits = values.view(np.uint64)
    rest, copy = np.empty(OFTEN), np.empty(OFTEN)
    for first in range(0, bits.size, OFTEN):
        last = min(bits.size, first + OFTEN)
        n = last - first
        if not _add_block(chunks, values[first:last], rest[:n], copy[:n]):
            for i in range(first, last):
                _add(chunks, bits[i])
        carry(chunks)


@njit(cache=True, nogil=True)
def add_sum_of_integers(chunks, total):  # type: ignore[no-untyped-def]
    """Add a whole number of 64 bits, such as the sum of small whole numbers."""
    sign = np.int64(1) if total >= 0 else np.int64(-1)
    size = np.uint64(total) if total >= 0 else np.uint64(0) - np.uint64(total)
    for part in range(2):
        piece = np.int64((size >> np.uint64(32 * part)) & np.uint64(0xFFFFFFFF)) << np.int64(_UNIT % 32)
        chunks[_UNIT // 32 + part] += sign * (piece & _LOW)
        chunks[_UNIT // 32 + part + 1] += sign * (piece >> np.int64(32))
    carry(chunks)


@njit(cache=True, nogil=True)
def add_values(chunks, values):  # type: ignore[no-untyped-def]
    """Add finite numbers of any type; each is turned into a double first."""
    doubles = np.empty(OFTEN)
    for first in range(0, values.size, OFTEN):
        n = min(values.size - first, OFTEN)
        for i in range(n):
            doubles[i] = np.float64(values[first + i])
        add_doubles(chunks, doubles[:n])


def exact_mean(chunks: np.ndarray, n: int) -> float:
    """The mean of n numbers from their sum, rounded once; 0 when there are none."""
    if not n:
        return 0.0
    total = 0
    for chunk in chunks[::-1].tolist():
        total = (total << 32) + chunk
    return total / (n << _UNIT)


def mean_of(values: np.ndarray) -> float:
    """The exact mean of finite values, rounded once, whatever their order; 0 when there are none."""
    chunks = np.zeros(CHUNKS, np.int64)
    add_values(chunks, np.ascontiguousarray(values))
    return exact_mean(chunks, values.size)

"""`ErrorCosts`: what it costs to decide one class when another is true, in the same money as the prices.

expected cost of deciding d = sum over classes t of probability[t] * matrix[t, d]
"""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from synafa.errors import SynafaError
from synafa.files import write_text
from synafa.money.cells import parse_number, read_cells
from synafa.money.stored import Stored
from synafa.table.names import close_names, some_names
from synafa.wording import worded

ANY = "*"


@dataclass(frozen=True, eq=False)
class ErrorCosts(Stored):
    """Costs of wrong decisions among K classes.

    Attributes
    ----------
    classes : tuple of K labels
        As the model has them; they are matched by their text.
    matrix : float64 (K, K), read-only
        [true class, decided class]; 0 on the diagonal, at least 0 elsewhere.

    Examples
    --------
    >>> costs = ErrorCosts.from_words(["disease:healthy=20000", "healthy:disease=500"], ["disease", "healthy"])
    >>> costs.expected([[0.05, 0.95]]).tolist()
    [[475.0, 1000.0]]
    >>> costs.classes[costs.decide([[0.05, 0.95]])[0]]
    'disease'
    """

    classes: tuple[Any, ...]
    matrix: np.ndarray
    _called: ClassVar[str] = "error costs"

    def __post_init__(self) -> None:
        classes = tuple(label.item() if isinstance(label, np.generic) else label for label in self.classes)
        matrix = np.array(self.matrix, dtype=np.float64)
        matrix.flags.writeable = False
        object.__setattr__(self, "classes", classes)
        object.__setattr__(self, "matrix", matrix)
        names, k = self.class_names, len(classes)
        if k < 2 or len(set(names)) < k:
            raise SynafaError(f"Error costs need two or more different classes, got: {some_names(names)}.")
        if matrix.shape != (k, k):
            raise SynafaError(f"The error costs of {k} classes need {k} rows and {k} columns, got {matrix.shape}.")
        for t in range(k):
            for d in range(k):
                _check_cost(names[t], names[d], float(matrix[t, d]))

    @classmethod
    def from_mapping(
        cls, costs: Mapping[Any, Mapping[Any, Any]], classes: Iterable[Any] | None = None, default: float | None = None
    ) -> ErrorCosts:
        """From `{true class: {decided class: cost}}`.

        Parameters
        ----------
        costs : mapping of mappings
            "*" stands for every class that is not named otherwise.
        classes : labels of the model, default=None
            The order of the result; None: the classes in the order in which they are named.
        default : float, default=None
            Cost of the errors nothing is said about; None: leaving one out is an error.

        Raises
        ------
        SynafaError
            If a class is unknown, a cost is no finite number of at least 0, or an error has no cost.

        Examples
        --------
        >>> ErrorCosts.from_mapping({"ill": {"well": 9}, "well": {"ill": 1}}).matrix.tolist()
        [[0.0, 9.0], [1.0, 0.0]]
        """
        if not isinstance(costs, Mapping) or not all(isinstance(row, Mapping) for row in costs.values()):
            raise SynafaError("Error costs must be of the form {true class: {decided class: cost}}.")
        pairs = {(label_text(t), label_text(d)): cost for t, row in costs.items() for d, cost in row.items()}
        return cls._from_pairs(pairs, classes, default)

    @classmethod
    def from_words(
        cls, words: Iterable[str], classes: Iterable[Any] | None = None, default: float | None = None
    ) -> ErrorCosts:
        """From words `TRUE:DECIDED=COST`: "disease:healthy=20000" is the cost of calling a disease healthy.

        Parameters
        ----------
        words : str or list of str
            A star in place of a class stands for every class that is not named otherwise, as in `disease:*=500`.
        classes : labels or None, default=None
            The model's classes in order; None: in the order in which they are named.
        default : float or None, default=None
            Cost of the errors nothing is said about; None: leaving one out is an error.

        Returns
        -------
        ErrorCosts
            The matrix of all costs.

        Raises
        ------
        SynafaError
            When a word cannot be read or names an unknown class.
        """
        labels = None if classes is None else list(classes)
        known = None if labels is None else {*map(label_text, labels), ANY}
        pairs: dict[tuple[str, str], Any] = {}
        for word in [words] if isinstance(words, str) else words:
            left, equals, cost = word.rpartition("=")
            pair = _split_pair(left, known) if equals else None
            if pair is None:
                raise SynafaError(
                    f"Cannot read the error cost {word!r}; write TRUE:DECIDED=COST, as in disease:healthy=20000."
                )
            if pair in pairs:
                raise SynafaError(f"The cost of deciding {pair[1]!r} when {pair[0]!r} is true is given twice.")
            try:
                pairs[pair] = parse_number(cost)
            except ValueError as error:
                raise SynafaError(f"The cost in {word!r} cannot be read: it {error}.") from None
        return cls._from_pairs(pairs, labels, default)

    @classmethod
    def from_csv(cls, path: str | os.PathLike[str], classes: Iterable[Any] | None = None) -> ErrorCosts:
        """Read a matrix: a row for each true class, a column for each decided class.

        Parameters
        ----------
        path : CSV file, separated by commas, semicolons or tabs
            The header holds the class names. The first column names the true class of each row; without it the rows
            are in the order of the header. Cells of the diagonal are 0 or empty.
        classes : labels of the model, default=None
            The order of the result; None: that of the header.

        Raises
        ------
        SynafaError
            One sentence that names file, line and column.
        """
        table = read_cells(path, "file of error costs")
        header, n = table.header, len(table.rows)
        if len(header) not in (n, n + 1):
            raise SynafaError(
                f"The error costs {table.path!r} have {n} rows and {len(header)} columns; there must be a row and a "
                "column for each class, and one column may name the rows."
            )
        labelled = len(header) == n + 1
        decided = header[1:] if labelled else header
        true = tuple(row[0] for row in table.rows) if labelled else decided
        if len(set(decided)) < len(decided):
            twice = next(name for i, name in enumerate(decided) if name in decided[:i])
            raise SynafaError(f"The error costs {table.path!r} have two columns {twice!r}.")
        pairs: dict[tuple[str, str], Any] = {}
        for row, cells in enumerate(table.rows):
            if true[row] not in decided:
                raise table.error(row, header[0], f"{true[row]!r} has no column{close_names(true[row], decided)}")
            if true[row] in true[:row]:
                raise table.error(row, header[0], f"there are two rows {true[row]!r}")
            for name, cell in zip(decided, cells[1:] if labelled else cells):
                if not cell and name == true[row]:
                    continue
                try:
                    pairs[true[row], name] = parse_number(cell)
                    _check_cost(true[row], name, pairs[true[row], name])
                except SynafaError as error:
                    raise table.error(row, name, _clause(error)) from None
                except ValueError as error:
                    raise table.error(row, name, f"the cell {error}" if cell else "the cost is missing") from None
        try:
            return cls._from_pairs(pairs, decided if classes is None else classes, None)
        except SynafaError as error:
            raise SynafaError(f"{table.path!r}: {_clause(error)}.") from None

    @classmethod
    def resolve(cls, spec: Any, classes: Iterable[Any], default: float | None = None) -> ErrorCosts | None:
        """Error costs of exactly these classes from whatever a user gives.

        Parameters
        ----------
        spec : None, ErrorCosts, mapping of mappings, array (K, K), path of a CSV, word or list of words
            A text without "=" is a path.
        classes : labels
            The model's classes in order.
        default : float or None, default=None
            Cost of the errors nothing is said about; None: leaving one out is an error.

        Returns
        -------
        ErrorCosts or None
            None when `spec` says nothing.

        Raises
        ------
        SynafaError
            When what was given cannot be read or does not fit the classes.
        """
        labels = list(classes)
        if spec is None:
            return None
        if isinstance(spec, ErrorCosts):
            names = spec.class_names
            pairs = {(t, d): spec.matrix[i, j] for i, t in enumerate(names) for j, d in enumerate(names) if i != j}
            return cls._from_pairs(pairs, labels, default)
        if isinstance(spec, Mapping):
            return cls.from_mapping(spec, labels, default)
        if isinstance(spec, os.PathLike) or (isinstance(spec, str) and ("=" not in spec or os.path.exists(spec))):
            return cls.from_csv(spec, labels)
        if isinstance(spec, np.ndarray):
            return cls(tuple(labels), spec)
        words = [spec] if isinstance(spec, str) else list(spec)
        if len(words) == 1 and isinstance(words[0], str) and "=" not in words[0]:
            return cls.from_csv(words[0], labels)
        if not all(isinstance(word, str) for word in words):
            return cls(tuple(labels), np.asarray(words))
        return cls.from_words(words, labels, default) if words else None

    @classmethod
    def uniform(cls, classes: Iterable[Any], cost: float = 1.0) -> ErrorCosts:
        """Every error costs the same; then the most probable class is decided.

        Parameters
        ----------
        classes : labels
            The classes.
        cost : float, default=1.0
            What an error costs.

        Returns
        -------
        ErrorCosts
            The matrix of all costs.
        """
        labels = tuple(classes)
        return cls(labels, cost * (1.0 - np.eye(len(labels))))

    @property
    def class_names(self) -> tuple[str, ...]:
        """The classes as text."""
        return tuple(label_text(label) for label in self.classes)

    @worded
    def expected(self, proba: Any) -> np.ndarray:
        r"""Expected cost of deciding each class.

        {proba}

        Returns
        -------
        float64, of the shape of `proba`
            At `[i, d]` the expected cost of deciding class d for row i.

        Notes
        -----
        .. math::

           E_{id} = \sum_t p_{it} C_{td}
        """
        proba = np.asarray(proba, dtype=np.float64)
        if proba.shape[-1:] != (len(self.classes),):
            raise SynafaError(f"proba must have a column for each of the {len(self.classes)} classes.")
        return proba @ self.matrix

    @worded
    def decide(self, proba: Any) -> np.ndarray:
        """Decide the class of the smallest expected cost; of equals the most probable.

        {proba}

        Returns
        -------
        int64 (n,)
            Positions in `classes`.
        """
        proba = np.asarray(proba, dtype=np.float64)
        costs = self.expected(proba)
        equal = costs <= costs.min(axis=-1, keepdims=True) + 1e-12 * max(1.0, float(self.matrix.max()))
        return np.where(equal, proba, -1.0).argmax(axis=-1)

    @worded
    def risk(self, proba: Any) -> np.ndarray:
        """Expected cost of the best decision now.

        {proba}

        Returns
        -------
        float64 (n,)
            The smallest expected cost of each row.
        """
        return self.expected(proba).min(axis=-1)

    def of(self, y: Any, decided: Any) -> np.ndarray:
        """What each decision cost.

        Parameters
        ----------
        y : int (n,)
            True classes as positions in `classes`.
        decided : int (n,)
            Decided classes as positions in `classes`.

        Returns
        -------
        float64 (n,)
            Cost of each row, 0 where the decision is right.
        """
        return self.matrix[np.asarray(y, dtype=np.int64), np.asarray(decided, dtype=np.int64)]

    def _meta(self) -> dict[str, Any]:
        return {"classes": list(self.classes), "matrix": self.matrix.tolist()}

    @classmethod
    def _of_meta(cls, meta: Mapping[str, Any]) -> Self:
        return cls(tuple(meta["classes"]), np.array(meta["matrix"], dtype=np.float64))

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write what `from_csv` reads.

        Parameters
        ----------
        path : str or path
            The file to write.
        """
        buffer = io.StringIO()
        writer = csv.writer(buffer, lineterminator="\n")
        writer.writerow(["true", *self.class_names])
        for name, row in zip(self.class_names, self.matrix):
            writer.writerow([name, *(repr(float(cost)).removesuffix(".0") for cost in row)])
        write_text(path, buffer.getvalue())

    @classmethod
    def _from_pairs(
        cls, pairs: Mapping[tuple[str, str], Any], classes: Iterable[Any] | None, default: float | None
    ) -> ErrorCosts:
        """A matrix from the costs of (true, decided), where the exact pair goes before the true class, before any."""
        if classes is None:
            classes = list(dict.fromkeys(name for pair in pairs for name in pair if name != ANY))
        labels = tuple(classes)
        names = [label_text(label) for label in labels]
        for pair, cost in pairs.items():
            for name in pair:
                if name != ANY and name not in names:
                    raise SynafaError(f"An error cost names the unknown class {name!r}{close_names(name, names)}.")
            _check_cost(*pair, cost)
        matrix = np.zeros((len(names), len(names)))
        for t, true in enumerate(names):
            for d, decided in enumerate(names):
                keys = [(true, decided), (true, ANY), (ANY, decided), (ANY, ANY)]
                cost = next((pairs[key] for key in keys if key in pairs), default)
                if t == d:
                    continue
                if cost is None:
                    raise SynafaError(
                        f"There is no cost for deciding {decided!r} when {true!r} is true; "
                        f"add {true}:{decided}=COST (0 if it costs nothing)."
                    )
                matrix[t, d] = float(cost)
        return cls(labels, matrix)


def label_text(label: Any) -> str:
    """A class label as text; 1.0 and True-like NumPy scalars as users write them."""
    if isinstance(label, np.generic):
        label = label.item()
    return str(int(label)) if isinstance(label, float) and label.is_integer() else str(label)


def _split_pair(text: str, known: set[str] | None) -> tuple[str, str] | None:
    """True and decided class; where names hold colons, the place at which both are known."""
    parts = text.split(":")
    splits = [(":".join(parts[:i]).strip(), ":".join(parts[i:]).strip()) for i in range(1, len(parts))]
    splits = [pair for pair in splits if all(pair)]
    if known is not None and len(splits) > 1:
        splits = [pair for pair in splits if set(pair) <= known] or splits[:1]
    return splits[0] if len(splits) == 1 else None


def _check_cost(true: str, decided: str, cost: Any) -> None:
    try:
        number = math.nan if isinstance(cost, bool) else float(cost)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number) or number < 0:
        raise SynafaError(
            f"The cost of deciding {decided!r} when {true!r} is true is {cost!r}; "
            "it must be a finite number of at least 0."
        )
    if true == decided and number != 0 and true != ANY:
        raise SynafaError(f"Deciding {decided!r} when it is true costs {number:g}; the right decision must cost 0.")


def _clause(error: Exception) -> str:
    text = str(error).rstrip(".")
    return text[0].lower() + text[1:]

"""`PriceList`: what asking for each feature costs, given what was asked for already.

A panel reveals several features for one price; once a member of a group was paid, its others cost their reduced price:

    price now of j = price_in_group[j] if an acquired feature is of j's group, else price[j]
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from synafa.errors import SynafaError
from synafa.money.cells import as_price
from synafa.money.price_rules import check_prices, set_cost
from synafa.money.stored import Stored
from synafa.table.names import close_names

TOLERANCE = 1e-9  # of a price that should just fit what is left
Names = Iterable[str]
_META = ("feature_names", "price", "panels", "panel_names", "group", "group_names", "price_in_group")


def reveal_matrix(n_features: int, panels: Iterable[Sequence[int]]) -> np.ndarray:
    """Which features asking for one reveals.

    Parameters
    ----------
    n_features : int
        How many features there are.
    panels : iterable of sequences of int
        Features that are revealed together.

    Returns
    -------
    bool (D, D)
        Row j marks all that asking for feature j reveals: its panel, or itself alone.

    Examples
    --------
    >>> reveal_matrix(3, [(0, 2)]).astype(int)
    array([[1, 0, 1],
           [0, 1, 0],
           [1, 0, 1]])
    """
    revealed = np.eye(n_features, dtype=bool)
    for panel in panels:
        revealed[np.ix_(panel, panel)] = True
    return revealed


def affordable(price: Any, remaining: Any) -> np.ndarray:
    """Whether prices fit what is left, up to `TOLERANCE`.

    Parameters
    ----------
    price : array (D,) or (n, D), or (n,) prices
    remaining : float or array (n,)
        What is left of the budget; with prices (n, D), of each row.

    Returns
    -------
    fits : bool array, of the shape of `price` (or of both broadcast, for prices (n,))

    Examples
    --------
    >>> affordable([[1.0, 2.0], [1.0, 2.0]], [1.0, 2.0]).tolist()
    [[True, False], [True, True]]
    """
    price, remaining = np.asarray(price), np.asarray(remaining)
    if price.ndim == 2 and remaining.ndim == 1:
        remaining = remaining[:, None]
    return price <= remaining + TOLERANCE


@dataclass(frozen=True, eq=False)
class PriceList(Stored):
    """Prices of D features, with panels (several for one price) and groups (cheaper once one of them was paid).

    Make one with `PriceList.plain` from a mapping, `from_csv` from a file or `from_columns` from lists, and give it to
    `PlanTree(prices=...)`; `now` and `cost_of` answer what something costs.

    Attributes
    ----------
    feature_names : tuple of str
        D names.
    price : float64 (D,)
        For a member of a panel, the panel's price.
    panels : tuple of tuples of int
        Disjoint, at least two members each: features revealed together for one price.
    group : int64 (D,)
        Index into `group_names`, -1 for none. All members of a panel are of one group or of none.
    price_in_group : float64 (D,)
        The price once a member of the group was paid, at most `price`; equal to `price` without a group.
    group_names, panel_names : tuple of str
        What groups and panels are called.

    Examples
    --------
    Two results of one exercise test: the second costs 1 once the first was paid.

    >>> prices = PriceList.from_columns(
    ...     ["age", "thal", "thalach"], [1, 102.9, 102.9], group=["", "lab", "lab"], price_in_group=[None, 1, 1]
    ... )
    >>> prices.now(np.array([[False, True, False]])).tolist()
    [[1.0, 1.0, 1.0]]
    >>> prices.cost_of([1, 2])
    103.9

    Two results of one blood sample, for one price:

    >>> blood = PriceList.from_columns(["age", "iron", "sugar"], [0, 20, 20], panel=["", "blood", "blood"])
    >>> blood.cost_of([1, 2]), blood.reveals[1].tolist()
    (20.0, [False, True, True])
    """

    feature_names: tuple[str, ...]
    price: np.ndarray
    panels: tuple[tuple[int, ...], ...] = ()
    group: np.ndarray = None  # type: ignore[assignment]
    price_in_group: np.ndarray = None  # type: ignore[assignment]
    group_names: tuple[str, ...] = ()
    panel_names: tuple[str, ...] = ()
    _called: ClassVar[str] = "price list"

    def __post_init__(self) -> None:
        names = tuple(str(name) for name in self.feature_names)
        d = len(names)
        group = np.full(d, -1) if self.group is None else self.group
        inside = self.price if self.price_in_group is None else self.price_in_group
        panels = tuple(tuple(sorted(int(j) for j in panel)) for panel in self.panels)
        values: dict[str, Any] = {
            "feature_names": names,
            "price": _frozen(self.price, np.float64),
            "group": _frozen(group, np.int64),
            "price_in_group": _frozen(inside, np.float64),
            "panels": panels,
            "panel_names": tuple(map(str, self.panel_names)) or tuple(f"panel {i + 1}" for i in range(len(panels))),
        }
        n_groups = int(values["group"].max(initial=-1)) + 1
        values["group_names"] = tuple(map(str, self.group_names)) or tuple(f"group {i + 1}" for i in range(n_groups))
        for name, value in values.items():
            object.__setattr__(self, name, value)
        check_prices(self, n_groups)

    @classmethod
    def plain(cls, feature_names: Iterable[str], costs: Any = None) -> PriceList:
        """Prices without panels and groups.

        Parameters
        ----------
        feature_names : names
            The D features.
        costs : None, array of D costs or mapping by name, default=None
            None: all cost 1. In a mapping, features left out cost 1.

        Returns
        -------
        PriceList
            Every feature is revealed alone and always costs the same.

        Raises
        ------
        SynafaError
            If a cost is no finite number of at least 0 or is of an unknown feature.

        Examples
        --------
        >>> PriceList.plain(["a", "b"], {"b": 2.5}).price.tolist()
        [1.0, 2.5]
        """
        names = tuple(str(name) for name in feature_names)
        if costs is None:
            return cls(names, np.ones(len(names)))
        if isinstance(costs, Mapping):
            given = {str(name): value for name, value in costs.items()}
            for name in given:
                if name not in names:
                    raise SynafaError(f"A cost is given for the unknown feature {name!r}{close_names(name, names)}.")
            return cls(names, np.array([as_price(name, given.get(name, 1.0), "cost") for name in names]))
        array = np.asarray(costs, dtype=np.float64)
        if array.shape != (len(names),):
            raise SynafaError(f"costs must hold one cost for each of the {len(names)} features, got {array.shape}.")
        return cls(names, np.array([as_price(name, value, "cost") for name, value in zip(names, array.tolist())]))

    @classmethod
    def from_columns(
        cls,
        feature: Sequence[str],
        price: Sequence[Any],
        panel: Sequence[str | None] | None = None,
        group: Sequence[str | None] | None = None,
        price_in_group: Sequence[Any] | None = None,
    ) -> PriceList:
        """Make a list from the columns of a price list; the rules are those of `from_csv`.

        Parameters
        ----------
        feature : sequence of str
            Names.
        price : sequence of float
            What each costs.
        panel : sequence of str or None, default=None
            The panel of each feature; None or "" for an empty cell.
        group : sequence of str or None, default=None
            The group of each feature; None or "" for an empty cell.
        price_in_group : sequence of float or None, default=None
            The price once a member of the group was paid; None or "" for an empty cell.

        Returns
        -------
        PriceList
            Prices in the order of `feature`.

        Raises
        ------
        SynafaError
            When the columns contradict each other.
        """
        from synafa.money.price_file import from_columns

        return cls(**from_columns(feature, price, panel, group, price_in_group))

    @classmethod
    def from_csv(
        cls,
        path: str | os.PathLike[str],
        feature_names: Names | None = None,
        *,
        known: Names = (),
        default: float | None = None,
        left_out: Names = (),
    ) -> PriceList:
        """Read a price list.

        Parameters
        ----------
        path : CSV file, separated by commas, semicolons or tabs
            Columns `feature,price,panel,group,price_in_group`; the last three may be empty or absent. Members of a
            `panel` are revealed together for one price; once a member of a `group` was paid, its others cost
            `price_in_group`. Decimal commas are understood.
        feature_names : names of the model's features, default=None
            The order of the result; None: the features of the file in its order.
        known : names of features known from the start, default=()
            They may be left out of the file and cost nothing then.
        default : float, default=None
            Price of the features that are left out; None: leaving one out is an error.
        left_out : names, default=()
            Columns of the table that are no features here: their lines are passed over.

        Raises
        ------
        SynafaError
            One sentence that names file, line and column.
        """
        from synafa.money.price_file import read_prices

        return cls(**read_prices(path, feature_names, known=known, default=default, left_out=left_out))

    @classmethod
    def resolve(
        cls, spec: Any, feature_names: Names, *, known: Names = (), default: float | None = None, left_out: Names = ()
    ) -> PriceList:
        """A price list of exactly these features from whatever a user gives.

        Parameters
        ----------
        spec : None, PriceList, path of a CSV, array of D costs, or mapping by name
            None, arrays and mappings as in `plain`, a path as in `from_csv`.
        feature_names : names
            The model's features, in order.
        known : names, default=()
            Features known from the start, as in `from_csv`.
        default : float or None, default=None
            Price of the features that are left out, as in `from_csv`.
        left_out : names, default=()
            Columns that are no features, as in `from_csv`.

        Returns
        -------
        PriceList
            Prices of `feature_names`.

        Raises
        ------
        SynafaError
            When what was given cannot be read or lacks a feature.
        """
        names = tuple(str(name) for name in feature_names)
        if isinstance(spec, PriceList):
            return spec if spec.feature_names == names else spec.select(names)
        if isinstance(spec, str | os.PathLike):
            return cls.from_csv(spec, names, known=known, default=default, left_out=left_out)
        return cls.plain(names, spec)

    @property
    def n_features(self) -> int:
        """Number of features D."""
        return len(self.feature_names)

    @cached_property
    def is_plain(self) -> bool:
        """Whether every feature is revealed alone and always costs the same."""
        return not self.panels and not self._reduced

    @cached_property
    def reveals(self) -> np.ndarray:
        """bool (D, D): row j holds all that asking for feature j reveals."""
        return _frozen(reveal_matrix(self.n_features, self.panels), bool)

    @cached_property
    def panel(self) -> np.ndarray:
        """Index into `panels` of every feature, int64 (D,), -1 for none."""
        panel = np.full(self.n_features, -1)
        for i, members in enumerate(self.panels):
            panel[list(members)] = i
        return _frozen(panel, np.int64)

    @cached_property
    def _reduced(self) -> tuple[np.ndarray, ...]:
        """The members of each group in which a price changes once another one is paid."""
        groups = [np.flatnonzero(self.group == g) for g in range(len(self.group_names))]
        return tuple(
            members
            for members in groups
            if len(members) > 1 and (self.price_in_group[members] < self.price[members]).any()
        )

    def now(self, acquired: np.ndarray) -> np.ndarray:
        """What asking for each feature costs in each state.

        Parameters
        ----------
        acquired : bool (n, D) or (D,)
            Features that were asked for; those known from the start are not among them, for they paid no group.

        Returns
        -------
        prices : float64, of the shape of `acquired`, read-only
            Also of features that are known already; callers mask them.
        """
        acquired = np.asarray(acquired, dtype=bool)
        if acquired.shape[-1] != self.n_features:
            raise SynafaError(f"acquired must have {self.n_features} columns, got {acquired.shape}.")
        if not self._reduced:
            return np.broadcast_to(self.price, acquired.shape)
        prices = np.empty(acquired.shape)
        prices[...] = self.price
        for members in self._reduced:
            paid = acquired[..., members].any(axis=-1, keepdims=True)
            inside = np.where(paid, self.price_in_group[members], self.price[members])
            prices[..., members] = inside
        prices.flags.writeable = False
        return prices

    def affordable(self, acquired: np.ndarray, remaining: Any) -> np.ndarray:
        """Whether each feature's price now fits what is left.

        Parameters
        ----------
        acquired : bool (n, D) or (D,)
            Features that were asked for, as in `now`.
        remaining : float or float (n,)
            What is left of the budget.

        Returns
        -------
        bool, of the shape of `acquired`
            Up to `TOLERANCE`.
        """
        return affordable(self.now(acquired), remaining)

    def cost_of(self, features: Iterable[int], acquired: np.ndarray | None = None) -> float:
        """What it costs to buy all of `features`, in the cheapest order.

        A panel is paid once; in each group that is not paid yet, the member that makes the sum smallest is paid in full
        and the others at their reduced price. Features of `acquired`, and of panels that hold one, cost nothing.

        Parameters
        ----------
        features : iterable of int
            Positions of the features.
        acquired : bool (D,) or None, default=None
            As in `now`; None: nothing was asked for yet.

        Returns
        -------
        float
            The sum of the prices.
        """
        return set_cost(self, features, acquired)

    def select(self, feature_names: Iterable[str]) -> PriceList:
        """A price list of these features in this order; what is left of a panel or group stays together.

        Parameters
        ----------
        feature_names : names
            Features of this list.

        Returns
        -------
        PriceList
            As long as `feature_names`.

        Raises
        ------
        SynafaError
            If a name is not in the list.
        """
        names = tuple(str(name) for name in feature_names)
        position = {name: j for j, name in enumerate(self.feature_names)}
        for name in names:
            if name not in position:
                raise SynafaError(f"The price list has no price for {name!r}{close_names(name, self.feature_names)}.")
        index = np.array([position[name] for name in names], dtype=np.int64)
        panel = self.panel[index]
        kept = [(i, tuple(np.flatnonzero(panel == i).tolist())) for i in range(len(self.panels))]
        kept = [(i, members) for i, members in kept if len(members) > 1]
        return PriceList(
            names,
            self.price[index],
            tuple(members for _, members in kept),
            self.group[index],
            self.price_in_group[index],
            self.group_names,
            tuple(self.panel_names[i] for i, _ in kept),
        )

    def _meta(self) -> dict[str, Any]:
        meta = {name: getattr(self, name) for name in _META}
        return {k: v.tolist() if isinstance(v, np.ndarray) else _listed(v) for k, v in meta.items()}

    @classmethod
    def _of_meta(cls, meta: Mapping[str, Any]) -> Self:
        return cls(**{name: meta[name] for name in _META})

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write what `from_csv` reads; columns that say nothing are left out.

        Parameters
        ----------
        path : str or path
            The file to write.
        """
        from synafa.money.price_file import write_prices

        write_prices(self, path)


def _frozen(values: Any, dtype: type) -> np.ndarray:
    array: np.ndarray = np.array(values, dtype=dtype)
    array.flags.writeable = False
    return array


def _listed(value: Any) -> Any:
    return [_listed(item) for item in value] if isinstance(value, tuple) else value

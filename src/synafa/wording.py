"""What several docstrings say in the same words stands here once: `@worded` puts it in where `{name}` is a whole line.

`help`, the site and numpydoc's validation read the finished text.
"""

from __future__ import annotations

import re
import textwrap
from typing import TypeVar

Function = TypeVar("Function")

ENTRIES = {
    "case": """
        Parameters
        ----------
        observed : mapping or None, default=None
            Values by feature name, as they are in the training table; None for a measurement without a result.
        {left}
        """,
    "left": """
        remaining : float or None, default=None
            Budget that is left; None: the budget less what was observed costs.
        unavailable : names, default=()
            What cannot be measured for this case.
        """,
    "codes": """
        Parameters
        ----------
        codes : uint8 (n, D)
            Codes as a `Discretizer` makes them.
        y : array (n,)
            Class labels.
        n_bins : int or None, default=None
            Number of codes of a feature; None: the largest code + 1, at least 2.
        missing : bool, default=False
            Whether the code `n_bins` may occur too: it stands for a missing cell.
        """,
    "complete_rows": """
        Parameters
        ----------
        X : DataFrame or array (n, D)
            Complete rows; only what the policy acquires is looked at.
        """,
    "counted": """
        Returns
        -------
        PairCounts
            Counts of all rows; the classes are sorted.

        {unusable}
        """,
    "dataset": """
        Returns
        -------
        Dataset

        Raises
        ------
        SynafaError
            When the table cannot be read or used.
        """,
    "drawn": """
        Parameters
        ----------
        title : str, default="Which measurement next?"
            The heading.

        Returns
        -------
        str
            One file that needs no other.
        """,
    "episode": """
        X : DataFrame or array (n, D)
            Rows; only what the policy acquires is looked at, and an empty cell is a measurement without a result.
        known : names or bool (n, D), default=()
            What is known from the start, added to what `fit` was told.
        unavailable : names or bool (n, D), default=()
            What cannot be acquired, added to what `fit` was told.
        budget : float or None, default=None
            In place of the one given at construction.
        """,
    "graph": """
        Parameters
        ----------
        max_depth : int
            Measurements that are followed.
        min_share : float
            States that fewer than this share of the rows reach are left out.

        Returns
        -------
        DecisionGraph
            Nodes, edges and a sentence for each thing that was cut off; it writes SVG, HTML, DOT and JSON.
        """,
    "known_cells": """
        values : float (n, D)
            Encoded values, NaN for no result; what the mask hides is not looked at.
        mask : bool (n, D)
            What is known.
        """,
    "numbers": """
        Parameters
        ----------
        X : array (n, D)
            Numbers; NaN is a missing cell.
        y : None, default=None
            Not looked at.
        """,
    "proba": """
        Parameters
        ----------
        proba : float (n, K) or (K,)
            Class probabilities.
        """,
    "proba_of_known": """
        Parameters
        ----------
        values : float (n, D)
            Encoded values; what the mask hides is not looked at.
        mask : bool (n, D)
            What is known.

        Returns
        -------
        float64 (n, K)
            One row a case, in the order of `classes_`; every row sums to 1.

        Raises
        ------
        SynafaError
            When the model was saved without its predictor.
        """,
    "progress": """
        progress : function or None, default=None
            Called as `progress(share, text)`.
        """,
    "proposal": """
        feature : str or None
            What to measure; None when it is time to stop.
        cost : float
            The price of `feature`.
        target : str
            What the class is called.
        """,
    "tables": """
        Returns
        -------
        InformationTables
            Exact tables of these rows.

        {unusable}
        """,
    "stored_file": """
        Parameters
        ----------
        path : str or path
            The model file.
        """,
    "run": """
        Returns
        -------
        Run
            Order, reasons, final mask and cost of every row.

        Raises
        ------
        SynafaError
            When the policy is not fitted, or a name, the budget or a column cannot be used.
        """,
    "training": """
        X : DataFrame or array (n, D)
            Training rows, numbers and text; an empty cell is one that was not measured.
        y : array (n,)
            Classes, at least two different ones.
        known : names, default=()
            Features that are there from the start and cost nothing (age, sex).
        unavailable : names, default=()
            Features that are never to be acquired.
        target : str, default=""
            What the class is called, for the reasons in plain words.
        """,
    "unusable": """
        Raises
        ------
        SynafaError
            When the table is empty, or codes or labels cannot be used.
        """,
}
_PLACE = re.compile(r"^( *)\{(\w+)\}$", re.MULTILINE)


def worded(function: Function) -> Function:
    """Put the shared entries into a docstring.

    >>> @worded
    ... def draw(title):
    ...     '''Draw.
    ...
    ...     {drawn}
    ...     '''
    >>> "The heading." in draw.__doc__
    True
    """
    if function.__doc__:  # python -OO leaves none
        function.__doc__ = _PLACE.sub(_entry, function.__doc__)
    return function


def _entry(place: re.Match[str]) -> str:
    text = textwrap.dedent(ENTRIES[place[2]]).strip("\n")
    return textwrap.indent(_PLACE.sub(_entry, text), place[1])

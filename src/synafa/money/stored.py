"""What price lists and error costs share: they stand in a model's file as JSON values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

from synafa.errors import SynafaError


class Stored:
    """Something that JSON values describe whole; `_meta` and `_of_meta` are its own."""

    _called: ClassVar[str] = ""

    def to_meta(self) -> dict[str, Any]:
        """JSON values from which `from_meta` makes the same.

        Returns
        -------
        dict
            Lists, numbers and text.
        """
        return self._meta()

    @classmethod
    def from_meta(cls, meta: Mapping[str, Any]) -> Self:
        """Restore what `to_meta` described.

        Parameters
        ----------
        meta : mapping
            JSON values.

        Returns
        -------
        PriceList or ErrorCosts
            The same as was stored.

        Raises
        ------
        SynafaError
            When the values describe none.
        """
        try:
            return cls._of_meta(meta)
        except (KeyError, TypeError, ValueError) as error:
            raise SynafaError(f"The stored {cls._called} cannot be read ({error}); fit the model again.") from error

    def _meta(self) -> dict[str, Any]:
        raise NotImplementedError

    @classmethod
    def _of_meta(cls, meta: Mapping[str, Any]) -> Self:
        raise NotImplementedError

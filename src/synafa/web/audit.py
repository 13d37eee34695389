"""An audit line for each decision: what the model was told and what it answered, without names or free text.

A line is one JSON object. Values are numbers, or categories that the model knows from training; whatever else a
request holds was refused before. Nothing identifies a person.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from synafa.errors import SynafaError

if TYPE_CHECKING:
    from synafa.model.answer import Answer
    from synafa.model.answering import Answering


class AuditLog:
    """Appends lines to a file of the user's choice.

    Parameters
    ----------
    path : str or path
        The file; it is made when it is not there and never shortened.
    model : Answering
        The model that answers.
    name : str
        What the model is called.

    Raises
    ------
    SynafaError
        When the file cannot be written to.
    """

    def __init__(self, path: str | os.PathLike[str], model: Answering, name: str) -> None:
        self._path, self._model, self._name = Path(path), model, name
        self._lock = threading.Lock()
        self._append("")

    def write(self, case: Mapping[str, Any], answer: Answer) -> None:
        """One decision."""
        found = answer.recommendation
        line = {
            "time": datetime.now(UTC).isoformat(timespec="seconds"),
            "model": self._name,
            "observed": {name: self._value(name, value) for name, value in case["observed"].items()},
            "unavailable": list(case["unavailable"]),
            "remaining": case["remaining"],
            "proposed": found.feature,
            "stop_reason": found.stop_reason,
            "decision": None if answer.decision is None else str(answer.decision),
            "probabilities": {str(label): round(p, 6) for label, p in answer.probabilities.items()},
        }
        self._append(json.dumps(line, ensure_ascii=False) + "\n")

    def _value(self, name: str, value: Any) -> Any:
        """The value as the model understood it."""
        if value is None:
            return None
        code = self._model.policy_.encoder_.encode_value(name, value)
        categories = self._model.policy_.encoder_.categories_.get(name)
        return categories[int(code)] if categories else code

    def _append(self, text: str) -> None:
        try:
            with self._lock, self._path.open("a", encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            raise SynafaError(f"Cannot write the log {str(self._path)!r}: {error.strerror or error}.") from error

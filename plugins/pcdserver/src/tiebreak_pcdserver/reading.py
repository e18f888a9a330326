"""What a field's reply says: a distribution over the row's labels, and how far it can be believed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tiebreak.errors import BadReply
from tiebreak.evidence import Distribution
from tiebreak.plan import Row
from tiebreak.questions import Question
from tiebreak_pcdserver._wire import Read

__all__ = ["evidence"]


def evidence(found: Mapping[str, Read], row: Row, question: Question) -> Distribution:
    """The distribution of one row out of the fields of a reply.

    Args:
        found: field name -> what was read there.
        row: whose labels are the allowed values; its slot segment names the field.
        question: the question behind it.

    Raises:
        BadReply: the field is missing, or its values are not those that were allowed.
    """
    name = row.text("slot")
    read = found.get(name)
    if read is None:
        raise BadReply(f"Question {row.question!r}: no field {name!r} in the reply.")
    if set(read.probabilities) != set(row.labels):
        raise BadReply(
            f"Question {row.question!r}: probabilities for {sorted(read.probabilities)}, allowed were "
            f"{sorted(row.labels)}."
        )
    probabilities = tuple(read.probabilities[label] for label in row.labels)
    said = str(read.value).lower() if isinstance(read.value, bool) else read.value
    if said not in row.labels:
        raise BadReply(f"Question {row.question!r}: the value {said!r} is not an option.")
    names = dict(zip(row.labels, question.names, strict=True))
    native: dict[str, Any] = {"value": read.value, "probability": read.probability, "levels": read.levels}
    if name != row.question:
        native["field"] = name
    if question.kind != "yes_no" and row.labels != question.names:
        native["labels"] = names
    return Distribution(
        probabilities=probabilities, approximate=_approximate(probabilities, tuple(names.values())), native=native
    )


def _approximate(probabilities: tuple[float, ...], names: tuple[str, ...]) -> str | None:
    """Which options share their mass evenly, if any do.

    pcdServer walks a tree of tokens along the likeliest branch only. Options on a branch that lost are never told
    apart: they get equal parts of its mass, to the last bit, which two options that were scored do not get by
    chance. Of two options one always wins, so that nothing is shared.
    """
    if len(probabilities) < 3:
        return None
    shared: dict[float, list[str]] = {}
    for value, name in zip(probabilities, names, strict=True):
        shared.setdefault(value, []).append(name)
    groups = [", ".join(map(repr, group)) for value, group in shared.items() if value > 0 and len(group) > 1]
    if not groups:
        return None
    return f"{' and '.join(groups)} begin alike and share their mass evenly: the engine did not tell them apart"

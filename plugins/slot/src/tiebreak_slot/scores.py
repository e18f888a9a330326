"""`scores`: the label log-probabilities in a list of most probable tokens."""

from __future__ import annotations

import math
from collections.abc import Mapping

from tiebreak.errors import BadReply
from tiebreak.evidence import TokenScores
from tiebreak.plan import Row
from tiebreak_slot._wire import Completion, Token

__all__ = ["scores"]


def scores(row: Row, reply: Completion, ids: Mapping[str, int]) -> TokenScores:
    """The labels of a row, matched by token id (or by trimmed text where the row is loose).

    A label that is not listed is at most as probable as the least probable token that is: that bound is
    its value, and its index is in `bounds`.

    Args:
        row: whose labels.
        reply: a completion of one token with its most probable ones.
        ids: label -> token id.

    Raises:
        BadReply: the server sent no probabilities, or more mass than there is.
    """
    found = reply.completion_probabilities
    if not found or not found[0].top_logprobs:
        raise BadReply(
            "The server sent no completion_probabilities, though n_probs asked for them.",
            remedy="This build does not report probabilities on /completion; use another one.",
            engine="slot",
        )
    listed = found[0].top_logprobs
    logprobs = [token["logprob"] for token in listed]
    total = math.fsum(map(math.exp, logprobs))
    if total > 1.001:
        raise BadReply(f"The listed tokens hold {total:.4f} of the mass.", engine="slot")
    known = _by_text(row, listed) if row.loose else _by_id(row, listed, ids)
    least = min(logprobs)
    return TokenScores(
        logprobs=tuple(known.get(index, least) for index in range(len(row.labels))),
        bounds=frozenset(index for index in range(len(row.labels)) if index not in known),
        top=listed[logprobs.index(max(logprobs))]["token"],
    )


def _by_id(row: Row, listed: list[Token], ids: Mapping[str, int]) -> dict[int, float]:
    places = {ids[label]: index for index, label in enumerate(row.labels)}
    return {places[token["id"]]: token["logprob"] for token in listed if token["id"] in places}


def _by_text(row: Row, listed: list[Token]) -> dict[int, float]:
    places = {label: index for index, label in enumerate(row.labels)}
    mass: dict[int, float] = {}
    for token in listed:
        index = places.get(token["token"].strip())
        if index is not None:
            mass[index] = mass.get(index, 0.0) + math.exp(token["logprob"])
    return {index: math.log(value) for index, value in mass.items()}

"""`Greeting`: what the engine learns from a running llama-server, once."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, TypeVar

import attrs
from pydantic import BaseModel

from tiebreak.engine import Call, ChatTurns, Reply, Vocabulary
from tiebreak.errors import BadReply
from tiebreak.refusal import refusal
from tiebreak.stages.labels import LETTERS, MOST_LETTERS
from tiebreak_slot._wire import Completion, Pieces, Prompt, Properties, Tokens, completions

__all__ = ["Greeting", "Learnt"]

Body = TypeVar("Body", bound=BaseModel)

MARKER = "tiebreak-4f1c-marker"
PROBE = "Context:\nA parcel came late and its corner was crushed, but what was inside is whole.\n\nQuestion: "
PROBE_END, OTHER_END = "Was it late?", "Is anything inside it broken?"


@attrs.frozen(kw_only=True)
class Learnt:
    """What a running server said about itself.

    Attributes:
        build: build name or number, "" where it does not say.
        slots: requests that it works on at once.
        window: tokens of one request.
        bos: the token ids that it puts before a text of this model: its BOS, or none.
        vocabulary: single-token labels and the chat template's two halves.
        reuses: a prompt prefix was seen to be reused.
        exact: and the log-probabilities were then equal to the last bit.
    """

    build: str
    slots: int
    window: int
    bos: tuple[int, ...]
    vocabulary: Vocabulary
    reuses: bool
    exact: bool


class Greeting:
    """Asks a server who it is and what it can do.

    Args:
        top_n: tokens to compare when reuse is probed.
    """

    def __init__(self, top_n: int) -> None:
        self._top_n = top_n

    def run(self) -> Generator[Call, Reply, Learnt]:
        """All questions, one after another."""
        properties = yield from self._get("/props", Properties)
        bos = (yield from self._tokens("", add_special=True)).tokens
        labels = yield from self._labels()
        chat = yield from self._chat()
        reuses, exact = yield from self._probe()
        return Learnt(
            build=properties.build_info,
            slots=properties.total_slots,
            window=properties.default_generation_settings.n_ctx,
            bos=tuple(bos),
            vocabulary=Vocabulary(labels=labels, chat=_without(chat, bos)),
            reuses=reuses,
            exact=exact,
        )

    def _labels(self) -> Generator[Call, Reply, dict[str, int]]:
        """The labels that are one token each, in one round trip: the texts of the tokens tell where each ends."""
        body = {"content": list(LETTERS), "add_special": False, "parse_special": False, "with_pieces": True}
        reply = yield Call.post("/tokenize", body)
        pieces = iter(_read(reply, Pieces).tokens)
        labels: dict[str, int] = {}
        for label in LETTERS:
            ids, text = [], ""
            while len(text) < len(label):
                piece = next(pieces, None)
                if piece is None:
                    raise BadReply("/tokenize returned fewer tokens than labels.", engine="slot")
                ids.append(piece.id)
                text += piece.piece if isinstance(piece.piece, str) else bytes(piece.piece).decode(errors="replace")
            if len(ids) == 1 and text.strip() == label and len(labels) < MOST_LETTERS:
                labels[label] = ids[0]
        return labels

    def _chat(self) -> Generator[Call, Reply, ChatTurns | None]:
        """The chat template around one user turn, thinking off; None where it has none that survives."""
        body = {
            "messages": [{"role": "user", "content": MARKER}],
            "chat_template_kwargs": {"enable_thinking": False},
        }
        reply = yield Call.post("/apply-template", body)
        if reply.status != 200:
            return None
        before, *after = _read(reply, Prompt).prompt.split(MARKER)
        return ChatTurns(before=before, after=after[0]) if len(after) == 1 else None

    def _probe(self) -> Generator[Call, Reply, tuple[bool, bool]]:
        """Whether a prefix is reused, and whether what is read then is the same to the last bit."""
        prefix = (yield from self._tokens(PROBE)).tokens
        end = (yield from self._tokens(PROBE_END)).tokens
        other = (yield from self._tokens(OTHER_END)).tokens
        fresh = yield from self._complete(prefix + end, reuse=False)
        yield from self._complete(prefix + other, reuse=False)
        warm = yield from self._complete(prefix + end, reuse=True)
        reuses = warm.timings.cache_n >= len(prefix)
        return reuses, reuses and fresh.completion_probabilities == warm.completion_probabilities

    def _complete(self, ids: list[int], *, reuse: bool) -> Generator[Call, Reply, Completion]:
        body = {
            "prompt": ids,
            "n_predict": 1,
            "n_probs": self._top_n,
            "temperature": 0.0,
            "cache_prompt": reuse,
            "id_slot": 0,
        }
        reply = yield Call.post("/completion", body)
        if reply.status != 200:
            raise refusal(reply, "slot")
        try:
            return completions(reply.body)[0]
        except (ValueError, IndexError) as error:
            raise BadReply(f"/completion answered what it should not: {error}", engine="slot") from None

    def _tokens(self, text: str, **more: Any) -> Generator[Call, Reply, Tokens]:
        body = {"content": text, "add_special": False, "parse_special": False, **more}
        reply = yield Call.post("/tokenize", body)
        return _read(reply, Tokens)

    def _get(self, path: str, kind: type[Body]) -> Generator[Call, Reply, Body]:
        reply = yield Call(method="GET", path=path)
        return _read(reply, kind)


def _read(reply: Reply, kind: type[Body]) -> Body:
    if reply.status != 200:
        raise refusal(reply, "slot")
    try:
        return kind.model_validate_json(reply.body)
    except ValueError as error:
        raise BadReply(f"A reply is not a {kind.__name__}: {error}", engine="slot") from None


def _without(chat: ChatTurns | None, bos: list[int]) -> ChatTurns | None:
    """The template without a BOS of its own where the engine puts one first: exactly one is right."""
    if chat is None or not bos:
        return chat
    for spelling in ("<|begin_of_text|>", "<s>", "<bos>", "<|startoftext|>", "[BOS]"):
        if chat.before.startswith(spelling):
            return attrs.evolve(chat, before=chat.before[len(spelling) :])
    return chat

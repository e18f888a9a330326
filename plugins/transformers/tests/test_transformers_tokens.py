"""Token ids are llama.cpp's, for every split that is known, and a user's text never becomes a control token."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import gguf as writer
import pytest

from tiebreak import Decider, InvalidRequest, ModelUnavailable, Unsupported, gguf, models
from tiebreak_conformance.hybrid import write_hybrid
from tiebreak_embedded.library import open_library
from tiebreak_embedded.model import Model as LlamaCpp
from tiebreak_transformers.gguf_tokenizer import SPLITS
from tiebreak_transformers.tokens import Tokens
from tiebreak_transformers.vocabulary import vocabulary

ALPHABET = "aA1 2\n\t\r.,'s-é日🙂_<|>½²٣\u0301\u200b\xa0"
WRITTEN = [
    "",
    " ",
    "x  12 a   3\n\n 4",
    "don't I'LL we've THEY'RE",
    "日本語 テスト 123",
    "naïve  café e\u0301",
    "a\r\nb\r\n\r\n c",
    "price: $1,234.56 (10%)",
    "٣٤٥ 12½ ²",
    "under_score __init__",
    "Context:\nThe bar plays techno.",
    "\n\nQuestion: Which?\nOptions:\n(A) one\n(B) two\nAnswer: (",
]


def corpus(size: int) -> list[str]:
    dice = random.Random(3)
    return WRITTEN + ["".join(dice.choice(ALPHABET) for _ in range(dice.randint(1, 60))) for _ in range(size)]


def compare(file: Path, texts: list[str]) -> Tokens:
    """The tokens of both, all texts, with and without control tokens."""
    ours, theirs = Tokens.of_gguf(gguf.read(file)), LlamaCpp(open_library(), file)
    try:
        assert list(ours.opening) == theirs.opening()
        assert dict(ours.control) == theirs.control_tokens()
        for text in texts:
            for special in (False, True):
                assert list(ours.encode(text, special=special)) == theirs.tokenise(text, special=special), repr(text)
    finally:
        theirs.close()
    return ours


@pytest.mark.parametrize("split", SPLITS)
def test_every_split_is_the_one_of_llama_cpp(split: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add = writer.GGUFWriter.add_tokenizer_pre
    monkeypatch.setattr(writer.GGUFWriter, "add_tokenizer_pre", lambda self, _: add(self, split))
    compare(write_hybrid(tmp_path / "model.gguf"), [*corpus(300), "<|im_start|>user <think>", "<|im_end|"])


@pytest.mark.live
def test_ids_labels_and_control_tokens_of_the_default_model_are_those_of_llama_cpp() -> None:
    file = models.resolve("smollm2-135m").path
    assert file is not None
    ours = compare(file, [*corpus(2000), "<|im_end|> x <|im_start|>", *queries()])
    with Decider("embedded", "smollm2-135m", sequences=1, context=64) as other:
        assert dict(vocabulary(ours, None).labels) == dict(other.start().session.engine.vocabulary.labels)


def queries() -> list[str]:
    """The router set, in thirty languages."""
    import tiebreak

    file = Path(tiebreak.__file__).parent / "bench" / "data" / "router-67.jsonl"
    return [json.loads(line)["query"] for line in file.read_text(encoding="utf-8").splitlines() if line]


def test_another_kind_of_vocabulary_is_refused_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add = writer.GGUFWriter.add_tokenizer_pre
    monkeypatch.setattr(writer.GGUFWriter, "add_tokenizer_pre", lambda self, _: add(self, "tekken"))
    with pytest.raises(Unsupported, match=r"tekken.*smollm.*Hugging Face format"):
        Tokens.of_gguf(gguf.read(write_hybrid(tmp_path / "model.gguf")))


def test_a_lone_surrogate_is_refused(tiny: Path) -> None:
    with pytest.raises(InvalidRequest, match="surrogate"):
        Tokens.of_folder(tiny).encode("\ud800", special=False)


def test_what_a_user_wrote_is_never_a_control_token(make: Callable[..., Decider]) -> None:
    decider = make(layout="chat")
    rows = decider.explain("<|im_end|>", {"q": question()}).tokens
    plain = decider.explain("nothing", {"q": question()}).tokens
    assert rows is not None
    assert plain is not None
    engine = decider.session.engine
    tokens = engine._ready().tokens  # type: ignore[attr-defined]
    control = set(tokens.control.values())
    counts = [sum(token in control for piece in found[0] for token in piece) for found in (rows, plain)]
    assert counts[0] == counts[1] > 0


def question() -> object:
    from tiebreak import choice

    return choice("Which?", ["left", "right"])


def test_a_folder_without_a_tokenizer_says_so(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match=r"tokenizer\.json is not a tokenizer"):
        Tokens.of_folder(tmp_path)


def test_a_template_that_always_thinks_is_no_chat_layout(tiny: Path) -> None:
    tokens = Tokens.of_folder(tiny)
    always = "{% for m in messages %}{{ m.content }}{% endfor %}<think>\n"
    assert vocabulary(tokens, always).chat is None
    switch = always + "{% if not enable_thinking %}{% endif %}"
    chat = vocabulary(tokens, switch).chat
    assert chat is not None
    assert chat.after.endswith("<think>\n\n</think>\n\n")

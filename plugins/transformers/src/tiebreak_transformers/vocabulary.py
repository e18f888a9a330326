"""What layouts may know about a loaded model: its letter labels, control tokens and chat template."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

from tiebreak.engine import ChatTurns, Vocabulary
from tiebreak.errors import Unsupported
from tiebreak.stages.labels import deal
from tiebreak_transformers.info import INFO
from tiebreak_transformers.tokens import Tokens

__all__ = ["folder_template", "vocabulary"]

_MARKER = "tiebreak-4f1c-marker"
_THINKS, _OPTIONAL, _CLOSED = "<think>", "enable_thinking", "<think>\n\n</think>\n\n"


def vocabulary(tokens: Tokens, template: str | None) -> Vocabulary:
    """Labels in the order in which they are dealt, control tokens, and the chat template's two halves."""
    labels = deal(partial(tokens.encode, special=False), tokens.text)
    return Vocabulary(labels=labels, control=tuple(tokens.control), chat=_chat(tokens, template))


def folder_template(folder: Path) -> str | None:
    """The chat template of a folder in Hugging Face format: a file of its own, or an entry of the configuration."""
    own = folder / "chat_template.jinja"
    if own.is_file():
        return own.read_text(encoding="utf-8")
    configuration = folder / "tokenizer_config.json"
    if not configuration.is_file():
        return None
    found = json.loads(configuration.read_text(encoding="utf-8")).get("chat_template")
    if isinstance(found, list):  # several by name
        found = next((item.get("template") for item in found if item.get("name") == "default"), None)
    return found if isinstance(found, str) else None


def _chat(tokens: Tokens, template: str | None) -> ChatTurns | None:
    """The chat template around a user's turn, thinking off; None where there is none or it always thinks."""
    if template is None:
        return None
    rendered = _render(template, tokens)
    if rendered.count(_MARKER) != 1:
        return None
    before, after = rendered.split(_MARKER)
    if _THINKS in template and _CLOSED.strip() not in after:
        if _OPTIONAL not in template:
            return None
        after += _CLOSED
    for token in tokens.opening:  # it stands before every prompt already
        before = before.removeprefix(tokens.text(token))
    return ChatTurns(before=before, after=after)


def _render(template: str, tokens: Tokens) -> str:
    """One user turn and the opening of the answer, in a sandbox as transformers renders templates.

    Raises:
        Unsupported: the template does not work.
    """
    from jinja2.exceptions import TemplateError
    from jinja2.ext import loopcontrols
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    def refuse(message: str) -> str:
        raise TemplateError(message)

    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols])
    environment.globals["raise_exception"] = refuse
    environment.filters["tojson"] = lambda value, **how: json.dumps(value, ensure_ascii=False, **how)
    opening = "".join(tokens.text(token) for token in tokens.opening)
    given: dict[str, Any] = {
        "messages": [{"role": "user", "content": _MARKER}],
        "add_generation_prompt": True,
        "enable_thinking": False,
        "bos_token": opening,
        "eos_token": "",
    }
    try:
        return environment.from_string(template).render(**given)
    except TemplateError as error:
        raise Unsupported(
            f"The model's chat template cannot be rendered: {error}.", remedy="Use layout='decider'.", engine=INFO.name
        ) from error

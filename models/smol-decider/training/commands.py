"""`Command`: sentences that people say to voice assistants, drawn from the templates of home-assistant-intents."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs

from training.templates import Grammar

__all__ = ["FILLERS", "Command", "commands_of"]

SPOKEN = "en de fr es it pt nl pl ru sv tr cs da fi hu ro uk ca el nb".split()
FILLERS = {
    "name": ("lamp", "fan", "heater", "radio", "TV", "kettle"),
    "area": ("kitchen", "bedroom", "office", "garage"),
    "floor": ("first floor", "cellar"),
    "message": ("dinner is ready", "come down"),
    "item": ("milk", "bread", "eggs"),
    "search_query": ("Queen", "jazz"),
    "shopping_list_item": ("milk", "soap"),
    "todo_list_item": ("call the bank", "water the plants"),
}


@attrs.frozen(kw_only=True)
class Command:
    """A spoken command: its language, its intent and a sentence."""

    language: str
    intent: str
    sentence: str


def slots_of(lists: Mapping[str, Any]) -> dict[str, list[str]]:
    """The values of all slots of a language, as templates."""
    slots: dict[str, list[str]] = {}
    for name, values in lists.items():
        if "values" in values:
            slots[name] = [value["in"] if isinstance(value, dict) else value for value in values["values"]]
        elif "range" in values:
            low, high = values["range"]["from"], values["range"]["to"]
            slots[name] = sorted({str(low + (min(high, 100) - low) * step // 9) for step in range(10)})
        else:
            slots[name] = list(FILLERS.get(name, FILLERS["name"]))
    return {**{name: list(values) for name, values in FILLERS.items()}, **slots}


def commands_of(files: Mapping[str, bytes], rng: random.Random) -> Iterator[list[str]]:
    """Up to thirty sentences of each intent in each language."""
    for language in SPOKEN:
        data = json.loads(files[f"home_assistant_intents/data/{language}.json"])
        grammar = Grammar(data.get("expansion_rules", {}), slots_of(data.get("lists", {})))
        for intent, content in data["intents"].items():
            templates = [text for group in content["data"] for text in group["sentences"]]
            if intent == "HassRespond" or not templates:
                continue
            name = re.sub(r"(?<!^)(?=[A-Z])", "_", intent.removeprefix("Hass")).lower()
            found = {
                text
                for text in _sentences(grammar, templates, rng)
                if 5 < len(text) < 120 and not re.search(r"[<>{}\[\]()|]", text)
            }
            yield from ([language, name, text] for text in sorted(found)[:30])


def _sentences(grammar: Grammar, templates: Sequence[str], rng: random.Random) -> Iterator[str]:
    for _ in range(60):
        try:
            yield grammar.sentence(rng.choice(templates), rng)
        except ValueError:  # a template that uses rules which the file does not bring
            continue

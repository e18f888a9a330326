"""Many languages: which one it is, the names of things, and voice commands with their intents."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

import attrs

from ..commands import FILLERS, Command
from ..examples import Example
from ..sources import Name, Sources
from .drawing import coin, other, some
from .generator import Generator, bound
from .shapes import answer, pick, pick_described
from .surfaces import framed

LANGUAGES = {
    "en": "English",
    "de": "German",
    "fr": "French",
    "es": "Spanish",
    "it": "Italian",
    "pt": "Portuguese",
    "nl": "Dutch",
    "pl": "Polish",
    "ru": "Russian",
    "sv": "Swedish",
    "tr": "Turkish",
    "ja": "Japanese",
    "zh": "Chinese",
    "cs": "Czech",
    "fi": "Finnish",
    "el": "Greek",
    "da": "Danish",
    "hu": "Hungarian",
    "ro": "Romanian",
    "uk": "Ukrainian",
    "ko": "Korean",
    "ar": "Arabic",
    "hi": "Hindi",
    "id": "Indonesian",
    "vi": "Vietnamese",
}


def language_of_text(sentences: Mapping[str, Sequence[str]], r: random.Random) -> Example:
    """In which language a passage is written."""
    right = r.choice(list(sentences))
    words = r.choice(sentences[right]).split()
    if len(words) > 8 and coin(r, 0.6):
        start = r.randint(0, len(words) - 6)
        words = words[start : start + r.randint(5, 14)]
    state = framed(r, " ".join(words)) if coin(r, 0.3) else " ".join(words)
    wrong = some(r, [name for name in sentences if name != right], 1, 12)
    if coin(r, 0.4):
        truth = coin(r)
        return answer(
            r,
            state,
            r.choice(
                (
                    "Is the text written in {l}?",
                    "Is this {l}?",
                    "Language: {l}. Correct?",
                    "Would you hand this to a translator from {l}?",
                )
            ).format(l=right if truth else wrong[0]),
            truth,
        )
    return pick(
        r,
        state,
        r.choice(
            (
                "Which language is it?",
                "Language of the text?",
                "Detect the language.",
                "In what language is this written?",
                "Choose the language.",
            )
        ),
        right,
        wrong,
    )


def translated_name(names: Sequence[Name], r: random.Random) -> Example:
    """The name of a thing in another language."""
    thing = r.choice(names)
    codes = [code for code in thing.names if code in LANGUAGES]
    source, target = ("en", other(r, codes, "en")) if coin(r, 0.6) else tuple(r.sample(codes, 2))
    if coin(r):
        source, target = target, source
    shown, right = thing.names[source][0], thing.names[target][0]
    wrong = [one.names[target][0] for one in r.sample(names, 8) if target in one.names]
    wrong = [name for name in wrong if name != right][: r.randint(1, 5)]
    if coin(r, 0.45):
        truth = coin(r)
        return answer(
            r,
            r.choice(("{a} / {b}", "{a} = {b}", "{a} ({b})", "1: {a}\n2: {b}")).format(
                a=shown, b=right if truth else wrong[0]
            ),
            r.choice(
                (
                    "Do both mean the same?",
                    "Is the one a translation of the other?",
                    "Are they names of one thing?",
                    "Same thing in two languages?",
                )
            ),
            truth,
        )
    return pick(
        r,
        shown,
        r.choice(
            ("What is this in {l}?", "Translate to {l}.", "Which is the {l} name?", "Choose the {l} word for it.")
        ).format(l=LANGUAGES[target]),
        right,
        wrong,
    )


def keyword_of_name(names: Sequence[Name], r: random.Random) -> Example:
    """Which keyword belongs to a thing."""
    while True:
        thing = r.choice(names)
        code = r.choice(("en", "en", r.choice([code for code in thing.names if code in LANGUAGES])))
        name, keywords = thing.names[code]
        own = [word for word in keywords if word != name]
        strangers = [one.names[code] for one in r.sample(names, 5) if code in one.names]
        wrong = [word for _, words in strangers for word in words[:1] if word not in keywords and word != name]
        if own and wrong:
            break
    if coin(r, 0.4):
        truth = coin(r)
        return answer(r, name, f"Is '{r.choice(own) if truth else r.choice(wrong)}' a fitting keyword?", truth)
    return pick(
        r,
        name,
        r.choice(
            ("Which keyword goes with it?", "Which tag is related?", "Under which keyword would one search for it?")
        ),
        r.choice(own),
        wrong,
    )


INTENTS = {
    "turn_on": "switch something on or open it",
    "turn_off": "switch something off or close it",
    "get_state": "ask about the state of a device",
    "light_set": "change brightness or colour of a light",
    "start_timer": "start a timer",
    "cancel_timer": "cancel a timer",
    "get_weather": "ask for the weather",
    "get_current_time": "ask what time it is",
    "get_current_date": "ask for the date",
    "media_next": "skip to the next track",
    "media_pause": "pause the music",
    "media_unpause": "go on with the music",
    "media_previous": "go back to the track before",
    "set_volume": "set how loud it is",
    "set_volume_relative": "make it louder or quieter",
    "media_player_mute": "silence the player",
    "shopping_list_add_item": "put something on the shopping list",
    "list_add_item": "add an entry to a list",
    "list_complete_item": "tick off an entry of a list",
    "vacuum_start": "let the vacuum cleaner start",
    "vacuum_return_to_base": "send the vacuum cleaner home",
    "climate_set_temperature": "change the heating temperature",
    "climate_get_temperature": "ask how warm it is",
    "nevermind": "abort: the user has changed their mind",
    "broadcast": "announce something in the house",
    "increase_timer": "add time to a timer",
    "decrease_timer": "take time off a timer",
    "pause_timer": "halt a timer for a while",
    "unpause_timer": "let a halted timer go on",
    "timer_status": "ask how long a timer still runs",
    "cancel_all_timers": "cancel all timers",
    "lawn_mower_dock": "send the lawn mower home",
    "lawn_mower_start_mowing": "let the lawn mower start",
    "fan_set_speed": "change the speed of a fan",
    "set_position": "open or close a cover or valve to a given degree",
    "media_search_and_play": "look for music and play it",
}
NEAR = (
    {
        "turn_on",
        "turn_off",
        "light_set",
        "set_position",
        "media_unpause",
        "media_pause",
        "media_player_mute",
        "vacuum_start",
        "fan_set_speed",
        "lawn_mower_start_mowing",
    },
    {"media_player_mute", "set_volume", "set_volume_relative"},
    {"climate_get_temperature", "get_state", "get_weather"},
    {"cancel_timer", "cancel_all_timers", "nevermind", "decrease_timer", "increase_timer"},
    {"shopping_list_add_item", "list_add_item", "list_complete_item"},
    {"vacuum_start", "vacuum_return_to_base", "lawn_mower_dock", "turn_off", "lawn_mower_start_mowing"},
    {"unpause_timer", "start_timer", "pause_timer", "timer_status"},
    {"media_search_and_play", "media_unpause", "turn_on"},
)
"""Intents whose sentences may be the same: they are not offered side by side."""
OF_ONE_THING = ("vacuum", "lawn_mower", "fan", "set_position", "media")
"""Intents whose slot for a device must not be filled with any device."""


@attrs.frozen
class Voice:
    """Voice commands: per language, per intent, the sentences."""

    spoken: Mapping[str, Mapping[str, Sequence[str]]]


def voice_intent(voice: Voice, r: random.Random) -> Example:
    """What a voice command wants, in twenty languages."""
    language = "en" if coin(r, 0.4) else r.choice(list(voice.spoken))
    intents = voice.spoken[language]
    right = r.choice(list(intents))
    text = r.choice(intents[right])
    near = {right}.union(*(group for group in NEAR if right in group))
    wrong = some(r, [intent for intent in intents if intent not in near], 1, 12)
    state = framed(r, text) if coin(r, 0.4) else text
    ask = r.choice(
        (
            "What does the user want?",
            "Which intent is it?",
            "Which command is meant?",
            "Map the voice command to an intent.",
            "Intent?",
            "What should the house do?",
            "Choose the handler.",
        )
    )
    kind = r.random()
    if kind < 0.35:
        truth = coin(r)
        shown = right if truth else wrong[0]
        return answer(
            r,
            state,
            r.choice(
                (
                    "Does the user want to {d}?",
                    "Is the intent {n}?",
                    "Handler {n} ({d}): right one?",
                    "Is this meant: {d}?",
                )
            ).format(d=INTENTS[shown], n=shown),
            truth,
        )
    if kind < 0.7:
        return pick_described(r, state, ask, right, {intent: INTENTS[intent] for intent in [right, *wrong]})
    spaced = coin(r)
    return pick(
        r,
        state,
        ask,
        right.replace("_", " ") if spaced else right,
        [intent.replace("_", " ") if spaced else intent for intent in wrong],
    )


def voice_of(commands: Sequence[Command]) -> Voice:
    """The commands by language and intent, those that have a description."""
    spoken: dict[str, dict[str, list[str]]] = {}
    things = set(FILLERS["name"])
    for command in commands:
        misfit = command.intent.startswith(OF_ONE_THING) and things & set(command.sentence.split())
        if command.intent in INTENTS and not misfit:
            spoken.setdefault(command.language, {}).setdefault(command.intent, []).append(command.sentence)
    return Voice(spoken=spoken)


def generators(sources: Sources) -> tuple[Generator, ...]:
    """The generators that draw from passages, names and commands."""
    return (
        bound(language_of_text, sources.sentences, 2),
        bound(translated_name, sources.names, 2),
        bound(keyword_of_name, sources.names, 1),
        bound(voice_intent, voice_of(sources.commands), 4),
    )

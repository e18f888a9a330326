"""`Describe` and `Levels`: what stands in `Annotated` where a type alone cannot say enough."""

from __future__ import annotations

from collections.abc import Mapping

from tiebreak.errors import InvalidRequest

__all__ = ["Describe", "Levels"]


class Describe:
    """Says what the options of a field mean: `Annotated[Literal["a", "b"], Describe({"a": "what a means"})]`.

    Args:
        descriptions: option -> what it means. The keys are the options themselves (members of an Enum, values of a
            Literal, True and False); None describes *none of these*. Options that are not named have no description.

    Raises:
        InvalidRequest: a description is not text.
    """

    __slots__ = ("descriptions",)

    def __init__(self, descriptions: Mapping[object, str]) -> None:
        for option, text in descriptions.items():
            if not isinstance(text, str) or not text.strip():
                raise InvalidRequest(
                    f"Describe: the description of {option!r} is {text!r}.", remedy="Say what it means."
                )
        # Pairs, because True and 1 are one key in a mapping that is made from this one.
        self.descriptions: tuple[tuple[object, str], ...] = tuple(descriptions.items())

    def __repr__(self) -> str:
        return f"Describe({dict(self.descriptions)!r})"


class Levels:
    """Says that a field is a place on a rubric, lowest level first.

    `Annotated[int, Levels("calm", "annoyed", "furious")]` gives 0, 1 or 2, or the numbers from `ge` on where the field
    has bounds. On an Enum or a Literal, `Levels()` says that its options are in order, and texts describe them.

    Args:
        *texts: one per level; none where the options speak for themselves.

    Raises:
        InvalidRequest: a level is not text.
    """

    __slots__ = ("texts",)

    def __init__(self, *texts: str) -> None:
        for number, text in enumerate(texts):
            if not isinstance(text, str) or not text.strip():
                raise InvalidRequest(f"Levels: level {number} is {text!r}.", remedy="Describe it in words.")
        self.texts = texts

    def __repr__(self) -> str:
        return f"Levels({', '.join(map(repr, self.texts))})"

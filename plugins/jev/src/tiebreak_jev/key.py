"""`Key`: a secret that shows itself only to the wire."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import attrs

from tiebreak.engine import Reply
from tiebreak.errors import AuthError

__all__ = ["Bearer", "Key"]


class Key:
    """An API key. Its repr, its str and every copy of its holder's attributes stay silent about it.

    Args:
        value: the key.
        source: the environment variable that it came from, for messages.

    Raises:
        AuthError: it is not printable ASCII without spaces; the message does not repeat it.
    """

    __slots__ = ("_value", "source")

    def __init__(self, value: str, source: str) -> None:
        if not value.isascii() or not value.isprintable() or " " in value:
            # An HTTP library would refuse the header with a message that holds the key.
            raise AuthError(
                f"The key in {source} holds a space, a line break or a character that is not ASCII.",
                remedy=f"Set {source} again, without quotes or a trailing newline.",
            )
        self._value = value
        self.source = source

    def __repr__(self) -> str:
        return f"<key from {self.source}>"

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("a key is not pickled")

    def header(self) -> str:
        """The value of an `Authorization` header."""
        return f"Bearer {self._value}"

    def scrub(self, reply: Reply) -> Reply:
        """The reply without the key: some servers repeat what they were sent in their error messages."""
        secret = self._value.encode()
        headers = {name: value.replace(self._value, "[key]") for name, value in reply.headers.items()}
        return attrs.evolve(reply, body=reply.body.replace(secret, b"[key]"), headers=headers)


class Bearer(Mapping[str, str]):
    """Request headers with the key among them; a repr, also one in a traceback with locals, names them only."""

    __slots__ = ("_fixed", "_key")

    def __init__(self, key: Key | None, fixed: Mapping[str, str]) -> None:
        self._key = key
        self._fixed = dict(fixed)

    def __getitem__(self, name: str) -> str:
        if name == "authorization" and self._key is not None:
            return self._key.header()
        return self._fixed[name]

    def __iter__(self) -> Iterator[str]:
        yield from self._fixed
        if self._key is not None:
            yield "authorization"

    def __len__(self) -> int:
        return len(self._fixed) + (self._key is not None)

    def __repr__(self) -> str:
        return f"<headers {', '.join(self)}>"

"""`Settings`: how the gateway listens, whom it lets in, and where it stops."""

from __future__ import annotations

import attrs

from tiebreak.errors import InvalidRequest

__all__ = ["Settings"]

MIB = 1 << 20


@attrs.frozen(kw_only=True)
class Settings:
    """Everything about the gateway that is not the engine's affair.

    Args:
        host, port: where it listens; port 0 takes a free one.
        api_key: what clients must send as `Authorization: Bearer`, None for no key.
        aliases: further model names that clients may ask for.
        max_body: bytes of a request body, as sent and decompressed.
        max_open: requests that may be open at once, bodies still on their way included.
        body_timeout: seconds for a request body to arrive.
        retry_after: seconds that a refused client is asked to wait.
        decimals: probabilities are rounded to so many, None for full floats.
        drain: seconds that requests under way get after SIGTERM.

    Raises:
        InvalidRequest: a value that cannot be right.
    """

    host: str = "127.0.0.1"
    port: int = 8765
    api_key: str | None = attrs.field(default=None, repr=lambda key: "None" if key is None else "<set>")
    aliases: tuple[str, ...] = ()
    max_body: int = 4 * MIB
    max_open: int = 1024
    body_timeout: float = 30.0
    retry_after: float = 1.0
    decimals: int | None = None
    drain: float = 30.0

    def __attrs_post_init__(self) -> None:
        for name, low, high in (
            ("port", 0, 65535),
            ("max_body", 1, 1 << 40),
            ("max_open", 1, 1 << 20),
            ("body_timeout", 0.001, 86400),
            ("retry_after", 0, 86400),
            ("drain", 0, 86400),
            ("decimals", 2, 15),
        ):
            value = getattr(self, name)
            if value is not None and not low <= value <= high:
                raise InvalidRequest(f"{name} is {value!r}; it is from {low} to {high}.")
        if self.api_key is not None and (
            not self.api_key.isascii() or not self.api_key.isprintable() or not self.api_key
        ):
            raise InvalidRequest("The API key is empty or holds characters that no HTTP header carries.")

"""`Guard`: who may ask."""

from __future__ import annotations

import functools
import hmac
import ipaddress
from collections.abc import Mapping
from urllib.parse import urlsplit

from tiebreak.serve.problem import Problem
from tiebreak.serve.settings import Settings
from tiebreak.transport import is_loopback

__all__ = ["Guard"]


class Guard:
    """Checks the key where there is one; without one it keeps the pages of other sites out.

    A browser lets any page send requests to 127.0.0.1, under the name of its own site even (DNS rebinding), so a
    gateway without a key answers only callers that name this machine.
    """

    def __init__(self, settings: Settings) -> None:
        self._key = None if settings.api_key is None else settings.api_key.encode()
        self._local = is_loopback(f"http://{_bracketed(settings.host)}")

    def check(self, headers: Mapping[str, str]) -> None:
        """Refuse a request that may not be answered.

        Raises:
            Problem: 401 for a missing or wrong key, 403 for a page of another site.
        """
        host, origin = headers.get("host", ""), headers.get("origin")
        if origin is not None and urlsplit(origin).netloc != host:
            raise Problem.of(403, "permission_error", "Requests from pages of other sites are refused.")
        if self._key is None:
            if self._local and not _is_this_machine(host):
                raise Problem.of(
                    403, "permission_error", f"{host[:80]!r} is not this machine; set an API key to serve other names."
                )
            return
        scheme, _, given = headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not given.strip():
            raise _unauthorised("Must supply an API key: Authorization: Bearer KEY.")
        if not hmac.compare_digest(given.strip().encode(), self._key):
            raise _unauthorised("The API key is wrong.")


@functools.lru_cache(maxsize=64)
def _is_this_machine(host: str) -> bool:
    return is_loopback(f"http://{host}")


def _unauthorised(message: str) -> Problem:
    return Problem.of(401, "authentication_error", message, www_authenticate="Bearer")


def _bracketed(host: str) -> str:
    try:
        return f"[{host}]" if ipaddress.ip_address(host).version == 6 else host
    except ValueError:
        return host

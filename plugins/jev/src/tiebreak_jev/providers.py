"""`Provider`: who is asked, where, with whose key, and at what price."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from tiebreak.doctor import Finding
from tiebreak.errors import AuthError, InvalidRequest
from tiebreak.transport import check_url, is_loopback
from tiebreak_jev.key import Key

__all__ = ["PROVIDERS", "Provider", "Target", "findings", "target"]

ENGINE = "jev"


@attrs.frozen(kw_only=True)
class Provider:
    """What is known about one provider.

    Attributes:
        name: as the option calls it.
        url: its root, "" where the user must say.
        url_env, key_env: environment variables that its users set.
        keyless: it may work without a key.
        price: USD per million input tokens of its jev models, None where nobody published one.
        billing: what to do when the credit is used up.
    """

    name: str
    url: str
    url_env: str = ""
    key_env: str
    keyless: bool = False
    price: float | None = None
    billing: str


# Sources: the providers' public documentation as of November 2026.
PROVIDERS: Mapping[str, Provider] = {
    provider.name: provider
    for provider in (
        Provider(
            name="typesafe",
            url="https://api.typesafe.ai",
            url_env="TYPESAFE_BASE_URL",
            key_env="TYPESAFE_API_KEY",
            price=0.042,
            billing="Buy credits from TypeSafe.",
        ),
        Provider(
            name="openrouter",
            url="https://openrouter.ai/api",
            key_env="OPENROUTER_API_KEY",
            billing="Buy credits at openrouter.ai.",
        ),
        Provider(
            name="systemone",
            url="",
            url_env="SYSTEM_ONE_BASE_URL",
            key_env="SYSTEM_ONE_API_KEY",
            keyless=True,
            billing="Top up the account with whoever runs that server.",
        ),
    )
}


@attrs.frozen(kw_only=True)
class Target:
    """A provider with its URL and key settled."""

    provider: Provider
    url: str
    key: Key | None
    key_env: str


def target(options: Mapping[str, Any]) -> Target:
    """Settle who is asked from the options and the environment.

    A key is only ever sent to the provider that it belongs to: a URL without a provider means `systemone`.

    Raises:
        InvalidRequest: no URL, or one that a key must not be sent to.
        AuthError: the provider wants a key and there is none.
    """
    given = options["url"]
    provider = PROVIDERS[options["provider"] or ("systemone" if given else "typesafe")]
    url = given or _from_environment(provider)
    # Several tools want the root with its version; the path brings its own.
    url = url.removesuffix("/v1")
    key_env = options["api_key_env"] or provider.key_env
    secret = os.environ.get(key_env, "").strip()
    if not secret and not provider.keyless:
        raise AuthError(
            f"{provider.name} wants a key and {key_env} is not set.",
            remedy=f"Set {key_env}, or name another variable with api_key_env.",
            engine=ENGINE,
        )
    if secret and not provider.keyless and url.startswith("http://") and not is_loopback(url):
        raise InvalidRequest(
            f"The key for {provider.name} would cross the network unencrypted to {url}.",
            remedy="Use an https URL.",
            engine=ENGINE,
        )
    return Target(provider=provider, url=url, key=Key(secret, key_env) if secret else None, key_env=key_env)


def findings() -> Sequence[Finding]:
    """What the environment holds for each provider; nothing is sent and no key is shown."""
    found = []
    for provider in PROVIDERS.values():
        is_set = bool(os.environ.get(provider.key_env, "").strip())
        if provider.keyless:
            url = os.environ.get(provider.url_env, "")
            detail = f"{provider.url_env} is {'set' if url else 'not set'}; {provider.key_env} is optional"
            found.append(Finding(subject=f"provider {provider.name}", state="ok", detail=detail))
        else:
            found.append(
                Finding(
                    subject=f"key for {provider.name}",
                    state="ok" if is_set else "warn",
                    detail=f"{provider.key_env} is {'set' if is_set else 'not set'}",
                    remedy="" if is_set else f"Set {provider.key_env} to ask {provider.name}.",
                )
            )
    return found


def _from_environment(provider: Provider) -> str:
    url = os.environ.get(provider.url_env, "") if provider.url_env else ""
    if not url and not provider.url:
        raise InvalidRequest(
            f"Provider {provider.name} needs the URL of a server.",
            remedy=f"Pass url=, or set {provider.url_env}.",
            engine=ENGINE,
        )
    return check_url(url, ENGINE) if url else provider.url

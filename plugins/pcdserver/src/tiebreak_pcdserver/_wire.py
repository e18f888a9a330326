"""pcd_server's reply bodies, as far as they are read."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["Decoded", "Health", "Metrics", "Read"]


class _Body(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, allow_inf_nan=False)


class Health(_Body):
    """The reply of `/health`, which is 200 with or without a model; `ready` tells."""

    apiVersion: str  # noqa: N815  the wire's name
    ready: bool
    model: str | None = None
    description: str | None = None
    backend: str | None = None


class Read(_Body):
    """One field's answer; `probabilities` comes back sorted by key, whatever the order of the choices."""

    name: str
    value: bool | str
    probability: float
    probabilities: dict[str, float]
    levels: int = Field(ge=1)


class Metrics(_Body):
    """What the exchange cost: milliseconds, and bytes of the schema's checkpoint."""

    elapsedMs: float = Field(ge=0)  # noqa: N815
    forwardPasses: int = Field(ge=0)  # noqa: N815
    schemaCacheStatus: str  # noqa: N815
    checkpointBytes: int = Field(ge=0)  # noqa: N815
    phasesMs: dict[str, float]  # noqa: N815


class Decoded(_Body):
    """The reply of `/v1/pcd/decode`."""

    model: str
    fields_: list[Read] = Field(alias="fields")
    metrics: Metrics

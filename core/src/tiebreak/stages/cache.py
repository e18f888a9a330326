"""`CachePolicy`: where the reusable part of a prompt ends."""

from __future__ import annotations

from abc import ABC, abstractmethod

from tiebreak.answers import CacheScope
from tiebreak.plan import Plan, Row

__all__ = ["CachePolicy", "NoCache", "PrefixCache"]


class CachePolicy(ABC):
    """Marks the reusable prefix of every row; what is done with it is the engine's affair.

    Attributes:
        name: as the user asks for it and as the receipt shows it.
    """

    name: str

    @abstractmethod
    def cut(self, plan: Plan) -> Plan:
        """The plan with `Row.cut` set: the number of leading segments that may be reused, 0 for none."""

    @staticmethod
    def scope(plan: Plan) -> CacheScope:
        """What a prefix of this plan holds."""
        return {"state-first": "state", "schema-first": "schema", "opaque": "none"}[plan.direction]  # type: ignore[return-value]


class PrefixCache(CachePolicy):
    """Reuse what comes first: the state in a state-first layout, the questions in a schema-first one."""

    name = "prefix"

    def cut(self, plan: Plan) -> Plan:
        """See `CachePolicy.cut`."""
        if plan.direction == "opaque":
            return plan
        return plan.cut_at([_border(row, plan) for row in plan.rows])


class NoCache(CachePolicy):
    """Compute every prompt from its first token: bit-equal repeats on engines that are not exact otherwise."""

    name = "off"

    def cut(self, plan: Plan) -> Plan:
        """See `CachePolicy.cut`."""
        return plan.cut_at([0] * len(plan.rows))


def _border(row: Row, plan: Plan) -> int:
    states = [index for index, segment in enumerate(row.segments) if segment.role == "state"]
    if not states:
        return 0
    border = states[-1] + 1 if plan.direction == "state-first" else states[0]
    inside = border < len(row.segments) and row.segments[border].join
    return 0 if inside else border

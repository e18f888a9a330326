"""`Metrics`: what Prometheus may know about a gateway."""

from __future__ import annotations

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from tiebreak.answers import Decision

__all__ = ["Metrics"]

SECONDS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)


class Metrics:
    """Counters of one gateway, in a registry of their own."""

    content_type = CONTENT_TYPE_LATEST

    def __init__(self) -> None:
        registry = CollectorRegistry()
        self._registry = registry
        self._requests = Counter(
            "tiebreak_requests", "Requests by route and status.", ("route", "status"), registry=registry
        )
        self._seconds = Histogram(
            "tiebreak_request_seconds",
            "From the first byte in to the last byte out.",
            buckets=SECONDS,
            registry=registry,
        )
        self._queue = Histogram(
            "tiebreak_queue_seconds", "Waiting for a place at the engine.", buckets=SECONDS, registry=registry
        )
        self._prefill = Histogram(
            "tiebreak_prefill_seconds", "Prompt evaluation, as the engine says.", buckets=SECONDS, registry=registry
        )
        self._cache = Counter("tiebreak_cache", "Decisions by cache status.", ("status",), registry=registry)
        self._tokens = Counter("tiebreak_prompt_tokens", "Prompt tokens, cached or not.", registry=registry)
        self._reused = Counter(
            "tiebreak_reused_tokens", "Prompt tokens that were not computed again.", registry=registry
        )
        self._questions = Counter("tiebreak_questions", "Questions answered.", registry=registry)
        self.open = Gauge("tiebreak_open_requests", "Requests that are open now.", registry=registry)

    def answered(self, route: str, status: int, seconds: float) -> None:
        """Count one reply; only decisions are timed."""
        self._requests.labels(route, str(status)).inc()
        if route == "/v1/systemone":
            self._seconds.observe(seconds)

    def decided(self, decision: Decision) -> None:
        """Count one decision."""
        timings, cache = decision.timings, decision.cache
        self._queue.observe(timings.queue / 1e3)
        if timings.prefill is not None:
            self._prefill.observe(timings.prefill / 1e3)
        self._cache.labels(cache.status).inc()
        self._tokens.inc(decision.receipt.prompt_tokens or 0)
        self._reused.inc(cache.reused_tokens or 0)
        self._questions.inc(len(decision.answers))

    def text(self) -> bytes:
        """All of it, in Prometheus' text format."""
        return generate_latest(self._registry)

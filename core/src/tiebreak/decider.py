"""`Decider`: what a user holds to ask for decisions."""

from __future__ import annotations

import os
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from tiebreak.answers import Decision
from tiebreak.asking import Asking
from tiebreak.engine import EngineInfo
from tiebreak.errors import InvalidRequest, TiebreakError
from tiebreak.names import unknown
from tiebreak.questions import JSON, Question, Request
from tiebreak.registry import EXTENSIONS, Registry
from tiebreak.settings import Settings, check_calibration, check_urls
from tiebreak.stages.cache import CachePolicy
from tiebreak.stages.layout import Layout
from tiebreak.stages.readout import Readout

if TYPE_CHECKING:
    from tiebreak.calibration.profile import Profile
    from tiebreak.many import OnError, Row
    from tiebreak.models import Model
    from tiebreak.pool import Pool, Wanted
    from tiebreak.session import Explanation, Session

__all__ = ["Decider"]


class Decider(Asking):
    """Asks one engine with one model for decisions; starts it on the first question and shares it.

    Args:
        engine: the engine's name; None takes the first installed of the default engines.
        model: a model reference (a GGUF file, a registered name, `pypi:...`, `hf:...`); None takes the
            engine's default.
        layout: prompt layout by name, `EXTENSION:NAME` for one of an extension, or a `Layout`; None takes
            the one that the model was trained for, else the engine's own.
        readout: readout by name, or a `Readout`.
        cache: cache policy by name (`prefix`, `off`), or a `CachePolicy`.
        url: attach to a running server instead of starting one.
        urls: attach to several, which serve the same model: a request goes to the one that is likeliest to hold its
            reusable prefix, and to another where that one is busy or fails.
        temperature: divisor of the log-probabilities, one number or a mapping of question kind to
            number; None takes what was fitted for the model in this layout, else 1.
        calibration: a file that `tiebreak calibrate` made for this model, layout and readout, or a `Profile`; its
            temperatures take the place of the model's own.
        registry: where plugins are found; for tests.
        pool: where open engines are shared; for tests.
        mount: replaces the wire by an httpx transport; for tests and recordings.
        progress: called with (bytes done, bytes in all or None, what) while a model is fetched.
        **options: `timeout`, `strict`, `min_coverage`, `queue_limit`, and the engine's own options.

    Raises:
        EngineUnavailable: the engine is not installed or its plugin is broken.
        InvalidRequest: an unknown option, or a value that it does not take.
    """

    def __init__(
        self,
        engine: str | None = None,
        model: str | os.PathLike[str] | None = None,
        *,
        layout: str | Layout | None = None,
        readout: str | Readout | None = None,
        cache: str | CachePolicy | None = None,
        url: str | None = None,
        urls: Sequence[str] | None = None,
        temperature: float | Mapping[str, float] | None = None,
        calibration: str | os.PathLike[str] | Profile | None = None,
        registry: Registry | None = None,
        pool: Pool | None = None,
        mount: Any = None,
        progress: Callable[[int, int | None, str], None] | None = None,
        **options: Any,
    ) -> None:
        self._registry = registry or Registry()
        self._plugin = self._registry.plugin(engine or self._registry.default_engine())
        self.info: EngineInfo = self._plugin.engine()
        self._urls = check_urls(url, urls)
        self._settings = Settings.of(self.info, options, self._urls, temperature)
        self._calibration = check_calibration(calibration, temperature)
        # A server that is attached to has its model; somebody else's machine is told which of its models to ask.
        default = self.info.default_model if not self._urls or self.info.capabilities.hosted else None
        self._model: str | os.PathLike[str] | None = default if model is None else model
        self._stages = {"layout": layout, "readout": readout, "cache": cache}
        self._pool = pool
        self._mount = mount
        self._progress = progress
        self._lock = threading.Lock()
        self._session: Session | None = None
        self._wanted: Wanted | None = None
        self._closed = False

    def __repr__(self) -> str:
        return f"Decider({self.info.name!r}, {self._model!r})"

    def __enter__(self) -> Decider:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    async def __aenter__(self) -> Decider:
        return self

    async def __aexit__(self, *error: object) -> None:
        self.close()

    def decide(self, state: JSON, questions: Mapping[str, Question]) -> Decision:
        """Answer several questions about one state in one request.

        Args:
            state: text, or a JSON object or array.
            questions: name -> question, from `choice`, `yes_no` and `score`.

        Returns:
            answers under the same names, with timings, cache report and receipt.

        Raises:
            InvalidRequest, ContextOverflow: the request is wrong; nothing was sent.
            Unsupported: the engine does not answer this.
            EngineUnavailable, EngineStartError, MemoryRefused: the engine could not be started.
            EngineDied, EngineHung, EngineOverloaded, BadReply, AuthError, QuotaError: it failed.
        """
        return self.session.decide(Request.of(state, questions), self._settings.core["timeout"])

    async def adecide(self, state: JSON, questions: Mapping[str, Question]) -> Decision:
        """The same from a task; the event loop is never blocked. See `decide`."""
        request = Request.of(state, questions)
        return await (await self._abound()).adecide(request, self._settings.core["timeout"])

    def decide_many(self, rows: Iterable[Row], *, on_error: OnError = "raise") -> Iterator[Decision | TiebreakError]:
        """Answer a stream of requests, as many at a time as the engine really works on.

        Requests that share a reusable prefix (the state or the questions, by layout) are run side by side, within
        a window of 256; the answers come in the caller's order. Never more than 512 rows are read ahead of the answers,
        and the decisions of the last 1,024 different requests are kept: one that is asked again among those gets the
        same decision.

        Args:
            rows: (state, questions) pairs; read lazily. What reading them raises is raised behind the answers to the
                rows before.
            on_error: `raise` at the row that failed, or `return` its error in its place and go on. An engine that
                cannot be started is no row's error: that is raised either way.

        Yields:
            one decision per row (or, with `return`, the error of a row that has none).
        """
        from tiebreak.many import many

        return many(self.session, rows, self._settings.core["timeout"], on_error)

    async def adecide_many(
        self, rows: Iterable[Row], *, on_error: OnError = "raise"
    ) -> AsyncIterator[Decision | TiebreakError]:
        """The same from a task; the event loop is never blocked. See `decide_many`."""
        from tiebreak.many import amany

        session = await self._abound()
        async for result in amany(session, rows, self._settings.core["timeout"], on_error):
            yield result

    def explain(self, state: JSON, questions: Mapping[str, Question]) -> Explanation:
        """Show what would be sent: segments, tokens and cut; the model is not asked."""
        return self.session.explain(Request.of(state, questions))

    def pin(self, *, state: JSON = None, questions: Mapping[str, Question] | None = None) -> None:
        """Compute a state or some questions once and keep them warm until they are unpinned as often.

        Args:
            state: what will be asked about again, in a layout that puts the state first.
            questions: what will be asked again, in a layout that puts the questions first.

        Raises:
            InvalidRequest: not exactly one of the two was given, or the cache has no room for it.
            Unsupported: the engine does not pin, or the layout puts the other one first.
        """
        self.session.pin(state, questions, keep=True)

    def unpin(self, *, state: JSON = None, questions: Mapping[str, Question] | None = None) -> None:
        """Take one pin away. Arguments as for `pin`; what was not pinned is left as it is."""
        self.session.pin(state, questions, keep=False)

    def start(self) -> Decider:
        """Start the engine now instead of on the first question; returns the Decider."""
        self.session.start()
        return self

    def close(self) -> None:
        """Give the engine back; the last Decider that uses it closes it. A second call does nothing."""
        with self._lock:
            wanted, self._wanted, self._session, self._closed = self._wanted, None, None, True
        if wanted is not None:
            self._engines.release(wanted)

    @property
    def session(self) -> Session:
        """The session: engine, model and stages, bound on first use."""
        with self._lock:
            if self._session is None:
                if self._closed:
                    raise InvalidRequest("This Decider is closed.", remedy="Make a new one.")
                self._session = self._bind()
            return self._session

    async def _abound(self) -> Session:
        """The session; binding it may fetch a model, so not in the event loop."""
        if self._session is not None:
            return self._session
        import asyncio  # 40 ms that only async callers need, and they have paid them

        return await asyncio.to_thread(lambda: self.session)

    @property
    def _engines(self) -> Pool:
        if self._pool is None:
            from tiebreak.pool import PROCESS

            self._pool = PROCESS.pool()
        return self._pool

    def _bind(self) -> Session:
        from tiebreak.pool import Wanted
        from tiebreak.session import Session, Stages

        model = self._resolve()
        stages = Stages(
            layout=self._stage("tiebreak_layout", "layout", Layout, model),
            readout=self._stage("tiebreak_readout", "readout", Readout, model),
            cache=self._stage("tiebreak_cache", "cache", CachePolicy, model),
        )
        wanted = Wanted(
            info=self.info,
            model=model,
            options=self._settings.engine,
            queue_limit=self._settings.core["queue_limit"],
            mount=self._mount,
            urls=self._urls,
        )
        opened = self._engines.open(self._plugin, wanted)
        try:
            reading = self._settings.reading(model, stages.layout.name, opened.engine.capabilities.tolerance)
            if self._calibration is not None:
                reading = self._calibration.applied(reading, opened, stages)
            session = Session(opened, attrs.evolve(stages, reading=reading))
            session.observers = tuple(self._plugin.observers(session))
        except BaseException:
            self._engines.release(wanted)
            raise
        self._wanted = wanted
        return session

    def _resolve(self) -> Model | None:
        if self._model is None:
            return None
        from tiebreak.models import Model, resolve

        if self.info.capabilities.hosted:
            # Not a file: an id that only the other side can resolve, handed over as it was typed.
            typed = os.fspath(self._model)
            listed = {info.name: info for info in self._plugin.models()}
            return Model(reference=typed, name=typed, info=listed.get(typed))
        return resolve(
            self._model, lambda: self._registry.models()[0], progress=self._progress, formats=self.info.formats
        )

    def _stage(self, hook: str, stage: str, kind: type[Any], model: Model | None) -> Any:
        """A stage by object, by name, or by default, from the extension, the plugin or the core."""
        from tiebreak import defaults

        chosen = self._stages[stage]
        if isinstance(chosen, kind):
            return chosen
        names = {
            "layout": self.info.layouts,
            "readout": self.info.readouts,
            "cache": self.info.caches,
        }[stage]
        name = chosen if isinstance(chosen, str) else self._trained(stage, model, names)
        openness = self.info.stages.get(stage, "fixed")
        if ":" in name and openness == "open":
            extension, _, name = name.partition(":")
            found = self._registry.plugin(extension, EXTENSIONS).stage(hook, kind, self.info, model, name)
        elif name not in names and openness != "open":
            raise InvalidRequest(unknown(stage, name, names), engine=self.info.name)
        else:
            found = self._plugin.stage(hook, kind, self.info, model, name)
            if found is None:
                found = getattr(defaults, hook)(name=name)
        if found is None:
            raise InvalidRequest(unknown(stage, name, names), engine=self.info.name)
        return found

    def _trained(self, stage: str, model: Model | None, names: tuple[str, ...]) -> str:
        """The model's own layout where the engine has it, else the engine's first."""
        trained = model.info.layouts if stage == "layout" and model and model.info else ()
        return next((name for name in trained if name in names), names[0])

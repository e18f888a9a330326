"""An interrupt ends what a task waits for, and nothing else."""

from __future__ import annotations

import asyncio

import pytest

from tiebreak.serve.interrupt import Interrupt


class Late(Exception):
    """What the interrupt says."""


@pytest.mark.parametrize("times", [1, 2])
def test_it_ends_the_waiting_and_the_task_goes_on(times: int) -> None:
    async def waiting() -> None:
        with Interrupt(Late()) as interrupt:
            for _ in range(times):
                asyncio.get_running_loop().call_soon(interrupt)
            await asyncio.Event().wait()

    async def work() -> str:
        with pytest.raises(Late):
            await waiting()
        await asyncio.sleep(0)  # a cancellation that was left over would end this
        return "done"

    assert asyncio.run(work()) == "done"


def test_it_does_nothing_once_the_waiting_is_over() -> None:
    async def work() -> str:
        with Interrupt(Late()) as interrupt:
            await asyncio.sleep(0)
        interrupt()
        await asyncio.sleep(0)
        return "done"

    assert asyncio.run(work()) == "done"


def test_another_error_is_not_hidden() -> None:
    async def work() -> None:
        with Interrupt(Late()):
            raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        asyncio.run(work())


def test_a_task_that_is_cancelled_is_cancelled() -> None:
    async def work() -> None:
        with Interrupt(Late()):
            await asyncio.Event().wait()

    async def main() -> None:
        task = asyncio.ensure_future(work())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())

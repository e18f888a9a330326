"""The System One gateway: any engine behind `POST /v1/systemone`, so that any client of that protocol can ask it.

    from tiebreak import Decider
    from tiebreak.serve.app import create_app

    app = create_app(Decider("slot"))

It needs the extra `tiebreak[serve]`. `tiebreak serve` runs the same app under uvicorn and drains it on SIGTERM. The
protocol's facts (shapes, error bodies, limits) are those of TypeSafe's public documentation and of the open
specification that the `jevcompat` package tests.
"""

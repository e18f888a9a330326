"""A server whose own defaults are anything but neutral gives the same probabilities: none of it reaches the readout."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tiebreak import Decider, choice, yes_no
from tiebreak.pool import Pool

pytestmark = pytest.mark.live

SERVER = """
import threading, xllamacpp
p = xllamacpp.CommonParams()
p.model.path, p.port, p.n_ctx, p.n_parallel, p.kv_unified, p.fit_params = {model!r}, 0, 1024, 1, False, False
p.cpuparams.n_threads = p.cpuparams_batch.n_threads = 1
p.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
{defaults}
server = xllamacpp.Server(p)
print(server.listening_address, flush=True)
threading.Event().wait()
"""

DEFAULTS = {
    "truncating samplers": "p.sampling.top_p, p.sampling.min_p, p.sampling.top_k = 0.5, 0.2, 3",
    "penalties and heat": "p.sampling.temp, p.sampling.penalty_repeat, p.sampling.penalty_freq = 0.7, 1.5, 1.0",
    "mirostat": "p.sampling.mirostat = 2",
    "a grammar of the server": """
grammar = xllamacpp.CommonGrammar()
grammar.type, grammar.grammar = xllamacpp.common_grammar_type.COMMON_GRAMMAR_TYPE_USER, 'root ::= "Z"'
p.sampling.grammar = grammar
""",
}

QUESTIONS = {
    "team": choice("Which team?", {"roads": "potholes", "waste": "bins", "noise": "music"}),
    "urgent": yes_no("Does it have to be today?"),
}
STATE = "The bar downstairs plays techno until four"


@pytest.mark.parametrize("name", DEFAULTS)
def test_server_defaults_move_nothing(name: str, smol: Path, live: Decider) -> None:
    program = SERVER.format(model=str(smol), defaults=DEFAULTS[name])
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as server:
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        pool = Pool()
        try:
            made = Decider("slot", url=url, pool=pool)
            theirs, ours = made.decide(STATE, QUESTIONS), live.decide(STATE, QUESTIONS)
            for asked in QUESTIONS:
                assert theirs[asked].probabilities == ours[asked].probabilities
                assert theirs[asked].coverage == ours[asked].coverage
        finally:
            pool.close()
            server.kill()

"""From a checked file or folder to a model on its device: transformers' own loaders, its errors as ours."""

from __future__ import annotations

import contextlib
import io
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs

from tiebreak.errors import EngineStartError, EngineUnavailable, ModelUnavailable, Unsupported
from tiebreak_transformers.attention import NAME, register
from tiebreak_transformers.device import import_torch
from tiebreak_transformers.info import INFO

__all__ = ["Placed", "load"]

logger = logging.getLogger(__name__)

_LAYERS = {"full_attention", "sliding_attention"}


@attrs.frozen(kw_only=True, eq=False)
class Placed:
    """A model on a device.

    Attributes:
        model: transformers' model for causal language modelling.
        device, dtype: where it is and in which type.
        trained: tokens that it was trained to see at once, None where its configuration does not say.
    """

    model: Any
    device: str
    dtype: str
    trained: int | None


def load(path: Path, device: str, dtype: str) -> Placed:
    """Load a model.

    Args:
        path: a GGUF file or a folder in Hugging Face format, checked.
        device: `cpu`, `cuda` or `mps`.
        dtype: name of a floating-point type of torch.

    Raises:
        EngineUnavailable: a package is missing.
        ModelUnavailable: the weights cannot be read or do not fit the configuration.
        Unsupported: a model that does not compute packed rows: encoders, recurrent layers, code of its own.
        EngineStartError: the device has no room for it.
    """
    torch = import_torch()
    try:
        from transformers import AutoModelForCausalLM
    except ImportError as error:
        raise EngineUnavailable(
            f"transformers cannot be imported: {error}.",
            remedy="Run `python -m pip install 'transformers>=5,<6'`.",
            engine=INFO.name,
        ) from error
    if path.is_file():
        _needs_gguf()
    register()
    where: dict[str, Any] = {"pretrained_model_name_or_path": str(path), "use_safetensors": True}
    if path.is_file():
        where = {"pretrained_model_name_or_path": str(path.parent), "gguf_file": path.name}
    try:
        with _quietly():
            model = AutoModelForCausalLM.from_pretrained(
                **where, dtype=getattr(torch, dtype), local_files_only=True, trust_remote_code=False
            )
    except Exception as error:  # from a dozen modules, of as many types
        first = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise ModelUnavailable(
            f"transformers cannot load {path}: {first}",
            remedy="Check that it is whole and of an architecture that this version knows; code that a model brings "
            "along and pickled weights are not run.",
            engine=INFO.name,
        ) from error
    _check(model, path)
    try:
        model = model.eval().requires_grad_(False).to(device)
    except torch.OutOfMemoryError as error:
        raise EngineStartError(
            f"The {device} device has no room for {path.name} in {dtype}: {str(error).splitlines()[0]}",
            remedy="Use a 16-bit dtype, a smaller model, or device='cpu'.",
            engine=INFO.name,
        ) from error
    model.set_attn_implementation(NAME)
    trained = getattr(model.config.get_text_config(), "max_position_embeddings", None)
    return Placed(model=model, device=device, dtype=dtype, trained=trained if isinstance(trained, int) else None)


def _needs_gguf() -> None:
    """Refuse a GGUF file where what transformers needs to read one is not installed.

    Raises:
        EngineUnavailable: naming it.
    """
    try:
        import accelerate  # noqa: F401  transformers places the weights with it
        import gguf  # noqa: F401
    except ImportError as error:
        raise EngineUnavailable(
            f"A GGUF file needs one package more: {error}.",
            remedy="Run `python -m pip install 'tiebreak-transformers[gguf]'`.",
            engine=INFO.name,
        ) from error


def _check(model: Any, path: Path) -> None:
    """Refuse what cannot be computed packed.

    Raises:
        Unsupported: naming the model and why.
    """
    config = model.config.get_text_config()
    kinds = set(getattr(config, "layer_types", None) or ())
    if model.config.is_encoder_decoder:
        why = "it is an encoder and a decoder"
    elif kinds - _LAYERS:
        why = f"it has layers of the kind {', '.join(sorted(kinds - _LAYERS))}"
    elif not type(model)._supports_attention_backend:
        why = "its attention cannot be replaced"
    else:
        return
    raise Unsupported(
        f"{path.name} ({type(model).__name__}) cannot be computed packed: {why}.",
        remedy="Use a decoder with attention in every layer, or engine='embedded'.",
        engine=INFO.name,
    )


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    """Without transformers' progress bars and advice, which are for people who watch.

    Its GGUF loader has a bar that no switch turns off: what is written to stderr meanwhile goes to our log.
    """
    from transformers.utils import logging as theirs

    level, bars = theirs.get_verbosity(), theirs.is_progress_bar_enabled()
    theirs.set_verbosity(logging.ERROR)
    theirs.disable_progress_bar()
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            yield
    finally:
        logger.debug("transformers said: %s", said.getvalue().strip())
        theirs.set_verbosity(level)
        if bars:
            theirs.enable_progress_bar()

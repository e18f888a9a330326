"""A griffe extension: gives attrs classes the signature that attrs gives them, so that the reference shows types."""

from __future__ import annotations

from typing import Any

from griffe import Class, Extension, Function, Parameter, ParameterKind, Parameters

__all__ = ["AttrsSignatures"]

DECORATORS = ("attrs.frozen", "attrs.define")


class AttrsSignatures(Extension):
    """Adds `__init__` to every attrs class that has none."""

    def on_class_members(self, *, cls: Class, **more: Any) -> None:
        """Build the signature from the annotated attributes, in their order."""
        if "__init__" in cls.members or not any(d.callable_path in DECORATORS for d in cls.decorators):
            return
        parameters = [Parameter("self", kind=ParameterKind("positional or keyword"))]
        parameters += [
            Parameter(
                name, annotation=member.annotation, kind=ParameterKind("keyword-only"), default=_default(member.value)
            )
            for name, member in cls.attributes.items()
            if member.annotation is not None
        ]
        init = Function("__init__", parameters=Parameters(*parameters), returns="None")
        init.parent = cls
        cls.set_member("__init__", init)


def _default(value: Any) -> Any:
    """The default as a reader should see it: that of `attrs.field(...)` is made anew for each object."""
    if value is None or not str(value).startswith("attrs.field("):
        return value
    return "..." if "factory=" in str(value) or "default=" in str(value) else None

"""Types of parameters that share one entry of a docstring (``a, b``): each its own."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import griffe


class OwnTypes(griffe.Extension):
    """The parser gives all names of an entry the type of the first; the signature knows better."""

    def on_package(self, *, pkg: griffe.Module, **kwargs: Any) -> None:
        """Go through everything that was loaded."""
        self._correct(pkg)

    def _correct(self, item: griffe.Object) -> None:
        if isinstance(item, griffe.Class) and any(
            str(decorator.value).startswith("documented") for decorator in item.decorators
        ):  # the sections of its docstring are made from its parameters
            owner = getattr(import_module(item.module.path), item.name)
            item.docstring = griffe.Docstring(owner.__doc__, parent=item, parser="numpy")
        if isinstance(item, griffe.Function | griffe.Class) and item.docstring is not None:
            types = {parameter.name: parameter.annotation for parameter in item.parameters}
            for section in item.docstring.parsed:
                if section.kind is griffe.DocstringSectionKind.parameters:
                    for parameter in section.value:
                        if parameter.name in types:
                            parameter.annotation = types[parameter.name]
        for member in item.members.values():
            if not member.is_alias:
                self._correct(member)

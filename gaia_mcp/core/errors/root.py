"""The root of the tree."""

from __future__ import annotations

from typing import Any, ClassVar


class MCPError(Exception):
    """The root. `message` is one line, `hint` a fact that helps, where there is one; neither ever holds a secret.

    `server` is the name of the server that it is about. `kind` names the class and `case` the cause, where a class has
    several that call for different advice. `facts` holds more for programs: plain JSON values by name.
    """

    kind: ClassVar[str] = "error"

    def __init_subclass__(cls, *, kind: str = "", **settings: Any) -> None:
        super().__init_subclass__(**settings)
        cls.kind = kind or cls.kind

    def __init__(self, message: str, *, hint: str = "", server: str = "", case: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.server = server
        self.case = case
        self.facts: dict[str, Any] = {}

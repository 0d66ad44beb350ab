"""Records are the values that modules pass to each other: frozen `msgspec.Struct`s.

A process has hundreds of such classes. As dataclasses, creating them took a third of the time of a command, and each
instance ten times as long. What pydantic reads is still a dataclass.
"""

import dataclasses
from typing import TYPE_CHECKING, Any

from msgspec import Struct, structs

if TYPE_CHECKING:
    from dataclasses import asdict as asdict  # types are checked by the rules for these
    from dataclasses import replace as replace
else:
    replace = structs.replace

    def asdict(record: Any) -> dict[str, Any]:
        """The fields by name, in order, of a record or a dataclass."""
        return structs.asdict(record) if isinstance(record, Struct) else dataclasses.asdict(record)

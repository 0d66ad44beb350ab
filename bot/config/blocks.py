"""The tables `[[agents.blocks]]` and `[[constellation.blocks]]`: initial blocks."""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import ConfigDict, Field
from pydantic import model_validator as validate_model

from bot.config.block_templates import TEMPLATES, initial_text
from bot.config.values import BlockTypeName, Label, Name, Permission, Section, TemplateName
from memory.blocks.records import MOST_CHARACTERS, require_fits, usual_limit
from memory.blocks.schemas import TEXT, Schema, TextSchema, outline
from memory.store.errors import StoreError
from texts import _


class Block(Section):
    """An initial block of an agent. `each` means a separate block for every audience, starting with this content."""

    label: Label
    description: str = Field(min_length=1)
    type: BlockTypeName = "core"
    content: str = ""
    char_limit: int = Field(default=5000, ge=1, le=MOST_CHARACTERS)
    permission: Permission = "read_write"
    audience: Literal["public", "owner", "each"] = "each"
    pinned: bool = False
    template: TemplateName | None = None
    shape: Schema = Field(default=TEXT, alias="schema")
    values: Mapping[str, Any] = {}

    model_config = ConfigDict(populate_by_name=True)

    @validate_model(mode="before")
    @classmethod
    def _begin(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        given = cls._as_template(given)
        return {"char_limit": usual_limit(given.get("type", "core")), **given}

    @staticmethod
    def _as_template(given: dict[str, Any]) -> dict[str, Any]:
        found = TEMPLATES.get(str(given.get("template")))
        if found is None:
            return given
        usual = {"type": found.type, "pinned": found.pinned, "permission": found.permission, "schema": found.schema}
        label = {} if given["template"] == "custom" else {"label": given["template"]}
        return {**label, "description": found.description, **usual, **given}

    @validate_model(mode="after")
    def _values_fit(self) -> "Block":
        if isinstance(self.shape, TextSchema) and self.values:
            raise ValueError(_("content, not values: without a schema or template, a block is plain text"))
        if not isinstance(self.shape, TextSchema) and self.content:
            raise ValueError(_("values, not content: the block has {outline}", outline=outline(self.shape)))
        try:
            require_fits(self.label, self.char_limit, len(self.content or initial_text(self.shape, self.values)))
        except StoreError as error:
            raise ValueError(_("content or values that fit: {error}", error=error)) from error
        return self


class CommonBlock(Block):
    """A block of the constellation. `permissions` are exceptions by the agent's name."""

    permissions: Mapping[Name, Literal["read_only", "append", "read_write"]] = {}

"""Configuration files to start with (`carina init`), and the defaults of agents without a configuration."""

import json
import tomllib
from functools import cache
from importlib import resources

from bot.config.block_templates import TEMPLATES, full_description
from bot.config.file_settings import Agent


@cache
def beginning_texts() -> str:
    """The texts of agents, blocks and groups that ship with the program, in lower case: no person's words."""
    files = [file.read_text("utf-8") for file in resources.files(__name__).iterdir() if file.name.endswith(".toml")]
    examples = [json.dumps(tomllib.loads(text), ensure_ascii=False) for text in files]
    templates = [full_description(template.description, template.schema) for template in TEMPLATES.values()]
    return "\n".join([Agent().model_dump_json(by_alias=True), *examples, *templates]).casefold()

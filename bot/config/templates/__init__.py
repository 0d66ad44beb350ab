"""Configuration files to begin with (`carina init`), and what agents begin with where nobody wrote anything else."""

import json
import tomllib
from functools import cache
from importlib import resources

from bot.config.block_templates import TEMPLATES, full_description
from bot.config.file_settings import Agent


@cache
def beginning_texts() -> str:
    """What agents, their blocks and groups say that come with the program, in lower case: no words of any person."""
    files = [file.read_text("utf-8") for file in resources.files(__name__).iterdir() if file.name.endswith(".toml")]
    starters = [json.dumps(tomllib.loads(text), ensure_ascii=False) for text in files]
    templates = [full_description(template.description, template.schema) for template in TEMPLATES.values()]
    return "\n".join([Agent().model_dump_json(by_alias=True), *starters, *templates]).casefold()

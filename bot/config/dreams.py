"""The table `[dreams]`: upkeep of memory while nobody talks."""

from typing import Annotated

from pydantic import AfterValidator, Field

from bot.config.table import Section
from bot.config.values import check_model


def _check_own_model(text: str) -> str:
    return check_model(text) if text else text


class Dreams(Section):
    """Whether and how often; `model` empty: the cheaper model of the budgets, else the agent's own."""

    enabled: bool = True
    hours: float = Field(default=12, ge=1, le=24 * 7)
    idle_minutes: float = Field(default=5, ge=0, le=24 * 60)
    model: Annotated[str, AfterValidator(_check_own_model)] = ""
    tokens_per_run: int = Field(default=60_000, ge=0, le=10_000_000)
    preferences: bool = True
    graph: bool = True
    contradictions: bool = True
    sessions: bool = True
    expand: bool = True

"""The table `[budgets]`: what may be spent on models, and what is done as it runs out."""

import re
from typing import Annotated, Literal, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic import model_validator as validate_model

EXPECTED_SUBJECT = (
    '"constellation", "agent:<name>", "person" or "guild" for each of them, or of one alone, such as '
    '"person:discord:1234" and "guild:discord:1234"'
)


def check_subject(text: str) -> str:
    """Of whom or what a budget is; an id of digits alone is Discord's. Raises ValueError."""
    text = re.sub(r"(person|guild):(\d+)", r"\1:discord:\2", text.strip())
    if re.fullmatch(r"constellation|person|guild|agent:\S.{0,63}|(person|guild):\S{1,100}", text):
        return text
    raise ValueError(EXPECTED_SUBJECT)


Subject: TypeAlias = Annotated[str, AfterValidator(check_subject)]


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class Budget(_Table):
    """What may be spent on one subject in each day or month."""

    subject: Subject = "constellation"
    period: Literal["day", "month"] = "day"
    usd: float | None = Field(default=None, ge=0, le=1_000_000)
    tokens: int | None = Field(default=None, ge=0, le=10**12)

    @validate_model(mode="after")
    def _limits_something(self) -> "Budget":
        if self.usd is None and self.tokens is None:
            raise ValueError("usd or tokens, or both")
        return self


class Budgets(_Table):
    """Budgets, and what is done as they run out: `cheaper_at` and `short_at` are shares of one."""

    limits: tuple[Budget, ...] = ()
    cheaper_model: str = ""
    cheaper_at: float = Field(default=0.8, gt=0, le=1)
    short_at: float = Field(default=0.95, gt=0, le=1)
    when_spent: Literal["offline", "refuse"] = "offline"

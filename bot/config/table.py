"""What every table of the file has in common."""

import re

from pydantic import AfterValidator, BaseModel, ConfigDict


class Section(BaseModel):
    """One table of the file: frozen, and unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


def pattern(regex: str, expected: str) -> AfterValidator:
    """Takes a text that matches as a whole; else the error says what is expected."""

    def check(text: str) -> str:
        if re.fullmatch(regex, text):
            return text
        raise ValueError(expected)

    return AfterValidator(check)

"""The table `[[agents.patrols]]`: what an agent goes through by itself at its times."""

from typing import Annotated

from pydantic import AfterValidator, Field
from pydantic import model_validator as validate_model

from bot.config.table import Section
from bot.config.values import FileName, Label, check_cron


class Patrol(Section):
    """What an agent goes through by itself at its times: a text, or a file that the owner writes."""

    name: Label = "heartbeat"
    cron: Annotated[str, AfterValidator(check_cron)] = "*/30 * * * *"
    task: str = Field(default="", max_length=8_000)
    file: FileName = ""

    @validate_model(mode="after")
    def _one_checklist(self) -> "Patrol":
        if bool(self.task.strip()) == bool(self.file):
            raise ValueError("a checklist: either its text as task, or the name of its file in patrols/ as file")
        return self

"""`carina status` while no service runs: the settings of the next start. `bot.services.status` is for a running one."""

from typing import Any

from msgspec import Struct
from pydantic import Field

from bot.agents.permissions.roles_and_rights import Action
from bot.config import OFFLINE, Config
from bot.interfaces.cli.database_files import File, examine, worst
from bot.interfaces.exit_codes import exit_code
from bot.services.caller import Caller, Via
from bot.services.registry import Options, operation
from bot.services.results import Markup
from bot.services.status_texts import ModelState, ServiceStatus
from memory.search.embedding.choice import missing_words
from memory.store.data_folder import DataFolder
from texts import _, gettext_lazy, gettext_noop

_IDLE = gettext_noop("configured")
_UNKNOWN = {"started", "halted", "unstored", "ready", "waiting", "unsent", "dead", "failed", "unknown", "unfollowed"}
"""Values that only a running service knows."""
_HEADINGS = {
    0: gettext_noop("Carina is not running. `carina run` starts it."),
    3: gettext_noop("Carina is not running. Run `carina db migrate` first."),
}
"""By exit code."""


class IdleStatus(ServiceStatus):
    """The status according to configuration and files, with the first problem to solve.

    A stopped service is not a failure, but a database that cannot be opened is: the exit code is that of a command that
    opens it.
    """

    running: bool = False
    databases: tuple[File, ...]
    ended: int = Field(exclude=True)

    @property
    def code(self) -> int:
        return self.ended

    @property
    def heading(self) -> str:
        return _(_HEADINGS.get(self.ended, gettext_noop("Carina is not running. A database cannot be opened.")))

    def lines(self, markup: Markup) -> list[str]:
        problems = (_("Database: {unstored}", unstored=file.problem) for file in self.databases if file.problem)
        return [markup.text(self.heading), *map(markup.text, problems), *self.parts(markup)]

    def data(self) -> dict[str, Any]:
        return self.model_dump(mode="json", exclude=_UNKNOWN | {"damage", "gaps"})


class IdleService(Struct, frozen=True):
    config: Config

    @operation("status", "Show the status of front ends, models and queues", Action.STATUS, Options(via=frozenset(Via)))
    async def show(self, _caller: Caller) -> IdleStatus:
        config, model = self.config, self.config.embedding_model
        agents = {agent.name: config.model_of(agent) for agent in config.agents}
        names = [name for name in dict.fromkeys((*agents.values(), *config.model.fallback)) if name != OFFLINE]
        files = examine(DataFolder(config.home))
        error = worst(files)
        return IdleStatus(
            constellation=config.constellation.name,
            databases=tuple(files),
            ended=0 if error is None else exit_code(error),
            fronts=dict.fromkeys(config.sources, _(_IDLE)),
            not_configured=dict(config.unset()),
            models=tuple(ModelState(model=name, state="not used yet", words=_(_IDLE)) for name in names),
            embedding=_(missing_words(model) or gettext_lazy("{model} (configured)", model=model)),
            mcp=dict.fromkeys(config.mcp, _(_IDLE)),
            agents=agents,
        )

"""The health of a model: its problem, since when, and the remedy."""

from collections.abc import Callable
from datetime import datetime
from enum import StrEnum

from msgspec import Struct

from bot.models.base import Request, Trouble
from texts import _, gettext_noop


class State(StrEnum):
    """The outcome of the last call to a model."""

    UNASKED = gettext_noop("not used yet")
    WORKING = gettext_noop("working")
    REFUSED = gettext_noop("refused")
    UNREACHABLE = gettext_noop("unreachable")
    FAILING = gettext_noop("failing")
    UNUSABLE = gettext_noop("cannot be used")


class ModelHealth(Struct, frozen=True):
    """The state of a model since `since`; `rests` are the seconds until the model is called again."""

    model: str
    since: datetime | None = None
    trouble: Trouble | None = None
    reason: str = ""
    rests: float = 0.0

    @property
    def state(self) -> State:
        if self.since is None:
            return State.UNUSABLE if self.reason else State.UNASKED
        match self.trouble:
            case None:
                return State.WORKING
            case Trouble.UNREACHABLE:
                return State.UNREACHABLE
            case Trouble.FAILING:
                return State.FAILING
            case _:
                return State.REFUSED

    @property
    def why(self) -> str:
        """Why the last call failed; empty if it did not."""
        return _(self.reason).removeprefix(self.model).lstrip(": ").rstrip(".")

    @property
    def advice(self) -> str:
        return "" if self.trouble is None else _advice(self.trouble, self.model)

    @property
    def words(self) -> str:
        """The state on one line; with the reason and the remedy if there is a problem."""
        state = _(self.state.value)
        if self.since is None:
            return f"{state}: {_(self.reason)}" if self.reason else state
        parts = [_("{state} since {at}", state=state, at=self.since)]
        if self.trouble is not None:
            parts = [f"{parts[0]}: {self.why}.", self.advice]
        return " ".join([*parts, *self.pause])

    @property
    def pause(self) -> tuple[str, ...]:
        """A sentence on how long the model is paused; empty if it is not."""
        if self.rests <= 0:
            return ()
        return (_("The next attempt is in {seconds} s.", seconds=f"{self.rests:.0f}"),)


def key_setting(model: str) -> str:
    return f"{model.partition(':')[0].upper()}_API_KEY"


def _advice(trouble: Trouble, model: str) -> str:
    match trouble:
        case Trouble.KEY:
            return _("Set {setting} to a key that works for this model, and restart.", setting=key_setting(model))
        case Trouble.MISSING:
            return _(
                "Choose a model that the provider offers, and set it in CARINA_MODEL, "
                "CARINA_FALLBACK_MODELS or the agent's settings."
            )
        case Trouble.QUOTA:
            return _("Check your credit and limits at the provider.")
        case Trouble.BUDGET:
            return _("See what is left of your budgets with `carina budget list`.")
        case Trouble.UNREACHABLE if model.startswith("openai:"):
            return _("Check the network, and OPENAI_BASE_URL if the server is your own.")
        case Trouble.UNREACHABLE:
            return _("Check the network.")
        case Trouble.FAILING:
            return _("If this continues, check the log and the provider's status page.")


def no_model(say: Callable[..., str], request: Request) -> str:
    """Why no language model answers, in the phrases of `say`; for others than the owner, an apology if one should."""
    if not request.owner:
        return say("limited") if request.failed else ""
    if not request.failed:
        return say("no_model", setting="`CARINA_MODEL`")
    first = request.failed[0]
    setting = key_setting(first.model) if first.trouble is Trouble.KEY else "CARINA_MODEL"
    return say(f"model_{first.trouble}", model=first.model, setting=f"`{setting}`")

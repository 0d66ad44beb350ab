"""How a model stands, for people who look after it: what is wrong with it, since when, and what to do."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from bot.models.base import Trouble


class State(StrEnum):
    """What the last call to a model came to."""

    UNASKED = "not asked yet"
    WORKING = "working"
    REFUSED = "refused"
    UNREACHABLE = "unreachable"
    FAILING = "failing"
    UNUSABLE = "cannot be used"

    @classmethod
    def of(cls, trouble: Trouble) -> "State":
        """The state a failed call leaves behind."""
        match trouble:
            case Trouble.UNREACHABLE:
                return cls.UNREACHABLE
            case Trouble.FAILING:
                return cls.FAILING
            case _:
                return cls.REFUSED


@dataclass(frozen=True)
class Standing:
    """`since` is when the state began; `rests` are the seconds for which the model is not asked again."""

    model: str
    state: State = State.UNASKED
    since: datetime | None = None
    trouble: Trouble | None = None
    reason: str = ""
    rests: float = 0.0

    @property
    def why(self) -> str:
        """Why the last call failed; empty where it did not."""
        return self.reason.removeprefix(self.model).lstrip(": ").rstrip(".")

    @property
    def advice(self) -> str:
        """What to do about that."""
        return "" if self.trouble is None else _advice(self.trouble, self.model)

    @property
    def words(self) -> str:
        """The state on one line; where something is wrong, why, and what to do about it."""
        if self.since is None:
            return f"{self.state}: {self.reason}" if self.reason else str(self.state)
        parts = [f"{self.state} since {self.since:%Y-%m-%d %H:%M} UTC"]
        if self.trouble is not None:
            parts = [f"{parts[0]}: {self.why}", self.advice]
        if self.rests > 0:
            parts.append(f"it rests: not asked again for {self.rests:.0f} s")
        return "; ".join(parts)


def key_setting(model: str) -> str:
    """The setting that holds the key for a model."""
    return f"{model.partition(':')[0].upper()}_API_KEY"


def _advice(trouble: Trouble, model: str) -> str:
    match trouble:
        case Trouble.KEY:
            return f"set a key in {key_setting(model)} that the provider accepts for this model, and start again"
        case Trouble.MISSING:
            return "name a model that the provider has (CARINA_MODEL, CARINA_FALLBACK_MODELS or the agent's model)"
        case Trouble.QUOTA:
            return "see to the account's credit or limits at the provider"
        case Trouble.BUDGET:
            return "`carina budget list` shows what is left of budgets"
        case Trouble.UNREACHABLE if model.startswith("openai:"):
            return "check the network, and OPENAI_BASE_URL if the server is your own"
        case Trouble.UNREACHABLE:
            return "check the network"
        case Trouble.FAILING:
            return "if that lasts, look at the log and at the provider's own status"

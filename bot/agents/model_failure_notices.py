"""Messages to people when no language model answered or one gave an incomplete answer, and the notice to the owner.

`bot.models.health` describes the state of models; `bot.agents.owner_notices` delivers the notice.
"""

from datetime import datetime, timedelta
from typing import TypeAlias

from bot.agents.context.prompt import PromptInputs
from bot.agents.turn_deps import TurnDeps
from bot.config.values import OFFLINE
from bot.models.base import Answer, Trouble
from memory.people.audience import OWNER, PUBLIC, Trust
from memory.store.database import Tx
from texts import _, gettext_lazy, gettext_noop

_HOUR = timedelta(hours=1)

ModelTrouble: TypeAlias = tuple[str, str]
"""The kind and description, to translate with `_`."""


def trouble_of(answer: Answer, material: PromptInputs) -> ModelTrouble | None:
    """The kind and description of the trouble that kept every language model from answering; None without any.

    If only the owner reads the answer, the answer itself says it.
    """
    if material.turn.scope.audience == OWNER:
        return None
    if not answer.model:
        return Trouble.BUDGET, gettext_lazy("the budget for models is used up")
    if answer.trouble is not None and answer.model == OFFLINE:
        return answer.trouble, answer.degraded
    if answer.finish != "filter" or answer.text:
        return None
    return "withheld", gettext_lazy("the provider of {model} withheld an answer", model=answer.model)


def said_of(deps: TurnDeps, trouble: ModelTrouble | None, answer: Answer, material: PromptInputs) -> str:
    """The text to send: the answer or, if a model had trouble in public, at most the configured apology."""
    if trouble is None or any(asked.message.trust is Trust.OWNER for asked in material.asked):
        return _explained(answer) + _unsaid(deps, answer, material)
    if deps.apology is not None or material.turn.scope.audience == PUBLIC:
        return deps.apology or ""
    return answer.text or _("Sorry, I can't answer this.")


def _unsaid(deps: TurnDeps, answer: Answer, material: PromptInputs) -> str:
    """Why no language model answered the owner, unless the answer or one of the last day says so.

    The offline model says it only where a language model would have known more.
    """
    if material.turn.scope.audience != OWNER or answer.model != OFFLINE or answer.calls or not answer.text:
        return ""
    name, recent = deps.budgets.model_of(material.agent), deps.clock() - timedelta(days=1)
    texts = [each.text for each in material.history if each.agent and each.created_at > recent]
    if answer.trouble in (None, Trouble.BUDGET) or any(name in text for text in (answer.text, *texts)):
        return ""
    return "\n" + _("(No language model answered: {trouble}.)", trouble=_(answer.degraded))


def tell_owner(deps: TurnDeps, tx: Tx, trouble: ModelTrouble, said: str, now: datetime) -> None:
    """Tell the owner why no model answers, once an hour per kind of trouble; nobody else reads it.

    The notice quotes only the configured apology: any other answer may be about somebody's direct messages.
    """
    (kind, why), apology = trouble, deps.apology
    key = f"trouble/{kind}/"
    if deps.notices.told_since(tx, key, now - _HOUR):
        return
    told = gettext_noop("No language model is answering: {trouble}. Until one does, people get no answer.")
    if apology:
        told = gettext_noop("No language model is answering: {trouble}. Until one does, people read “{said}”.")
    elif said:
        told = gettext_noop("No language model is answering: {trouble}. Until one does, people get simple answers.")
    notices = deps.notices
    with deps.speaking_to(None), notices.reading():
        text = f"{_(told, said=apology, trouble=_(why))} {_('See more with `carina status`.')}"
    notices.tell_owner(tx, f"{key}{now:%Y-%m-%dT%H:%M:%S}", deps.redact(text), now)


def _explained(answer: Answer) -> str:
    """The answer's text, with a note if the provider cut or withheld it."""
    if answer.finish == "filter" and not answer.text and not answer.calls:
        return _("The language model's provider withheld the answer to this.")
    if answer.finish == "length" and answer.text and not answer.calls:
        return _("{answer_text}\n(The answer ends here because it reached the model's limit.)", answer_text=answer.text)
    return answer.text

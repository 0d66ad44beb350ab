"""Approvals on Discord: the buttons of cards, `/approve`, `/deny`, `/permits`. All answers are seen by one person."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import discord
from discord import app_commands

from bot.desks.approving import Approvals
from bot.discord_ui.answering import LONGEST, Interaction, Suggest, defer, suggests, tell, text_file
from bot.discord_ui.asking import approver_of
from bot.discord_ui.forms import Door
from bot.errors import UserError
from bot.policy import Approver
from memory.clock import from_text
from memory.requests import Request, Status, Verdict
from sources.discord.buttons import PATTERN

Tree: TypeAlias = app_commands.CommandTree[Any]


def install_approvals(tree: Tree, approvals: Approvals) -> None:
    """Put the commands into the tree, and have the buttons of every card heard, also of those sent before a restart."""
    tree.add_command(_approve(approvals))
    tree.add_command(_deny(approvals))
    group = app_commands.Group(name="permits", description="What waits for a yes, and what was allowed for longer")
    group.add_command(_list(approvals))
    group.add_command(_revoke(approvals))
    tree.add_command(group)
    tree.client.add_dynamic_items(_buttons(approvals))


def _buttons(approvals: Approvals) -> type[discord.ui.DynamicItem[discord.ui.Button[Any]]]:
    class Answer(Door, discord.ui.DynamicItem[discord.ui.Button[Any]], template=PATTERN):
        """One button of one card; its id says which."""

        def __init__(self, offer: str, request: int, shown: discord.ui.Button[Any]) -> None:
            super().__init__(shown)
            self.offer, self.request = offer, request

        @classmethod
        async def from_custom_id(
            cls, _interaction: Interaction, item: discord.ui.Item[Any], match: re.Match[str], /
        ) -> "Answer":
            if not isinstance(item, discord.ui.Button):
                raise TypeError(f"a button has the id {match[0]}, not {type(item).__name__}")
            return cls(match["offer"], int(match["request"]), item)

        async def pressed(self, interaction: Interaction) -> None:
            if not await defer(interaction):
                return
            who = approver_of(interaction, "button")
            if self.offer == "details":
                await _details(interaction, approvals, self.request, who)
            elif self.offer in list(Verdict):
                ruling = await approvals.answer(self.request, who, Verdict(self.offer))
                await tell(interaction, ruling.words)
            else:
                await tell(interaction, "This button means nothing to me.")

    return Answer


async def _details(interaction: Interaction, approvals: Approvals, request: int, who: Approver) -> None:
    try:
        words, arguments = await approvals.details(request, who)
    except UserError as error:
        await tell(interaction, str(error))
        return
    shown = f"{words}\n```json\n{arguments}\n```"
    if len(shown) <= LONGEST:
        await tell(interaction, shown)
        return
    await tell(interaction, words, file=text_file(interaction, arguments, f"request-{request}.json"))


def _approve(approvals: Approvals) -> app_commands.Command[Any, ..., None]:
    @app_commands.command(name="approve", description="Allow what an agent asks to do")
    @app_commands.describe(request="Which request", length="How long it holds for the same again")
    @app_commands.choices(
        length=[
            app_commands.Choice(name="once", value="once"),
            app_commands.Choice(name="for 1 hour", value="hour"),
            app_commands.Choice(name="always", value="always"),
        ]
    )
    async def command(
        interaction: Interaction,
        request: app_commands.Range[str, 1, 20],
        length: app_commands.Choice[str] | None = None,
    ) -> None:
        await _answer(interaction, approvals, request, Verdict(length.value) if length else Verdict.ONCE)

    suggests(command, "request", _waiting(approvals))
    return command


def _deny(approvals: Approvals) -> app_commands.Command[Any, ..., None]:
    @app_commands.command(name="deny", description="Refuse what an agent asks to do")
    @app_commands.describe(request="Which request")
    async def command(interaction: Interaction, request: app_commands.Range[str, 1, 20]) -> None:
        await _answer(interaction, approvals, request, Verdict.DENY)

    suggests(command, "request", _waiting(approvals))
    return command


def _waiting(approvals: Approvals) -> Suggest:
    async def waiting(interaction: Interaction) -> Iterable[tuple[str, str]]:
        return ((str(each.id), _line(each)) for each in await _open(approvals, approver_of(interaction, "command")))

    return waiting


async def _open(approvals: Approvals, who: Approver) -> list[Request]:
    """What can still be answered; what was allowed and is not carried out yet cannot."""
    return [each for each in await approvals.waiting(who) if each.status is Status.WAITING]


async def _answer(interaction: Interaction, approvals: Approvals, request: str, verdict: Verdict) -> None:
    if not await defer(interaction):
        return
    if not request.isdecimal():
        await tell(interaction, "A request is named by its number, as on its card.")
        return
    ruling = await approvals.answer(int(request), approver_of(interaction, "command"), verdict)
    await tell(interaction, ruling.words)


def _list(approvals: Approvals) -> app_commands.Command[Any, ..., None]:
    @app_commands.command(name="list", description="What waits for your yes, and what was allowed for longer")
    async def command(interaction: Interaction) -> None:
        if not await defer(interaction):
            return
        who = approver_of(interaction, "command")
        lines = [f"- `{each.id}` {_line(each)}" for each in await _open(approvals, who)]
        text = "\n".join(["**Waiting for you**", *(lines or ["nothing"])])
        try:
            held = await approvals.shown(await approvals.standing(who))
        except UserError:
            pass  # somebody who is asked now and then sees that, and no more
        else:
            lines = ["\n**Allowed until revoked or over**", *(f"- `{each['id']}` {_grant_line(each)}" for each in held)]
            text += "\n".join(lines if held else [*lines, "nothing"])
        await tell(interaction, text, file_name="permits.md")

    return command


def _revoke(approvals: Approvals) -> app_commands.Command[Any, ..., None]:
    @app_commands.command(name="revoke", description="End something that was allowed for longer")
    @app_commands.describe(permit="Which one")
    async def command(interaction: Interaction, permit: app_commands.Range[str, 1, 20]) -> None:
        if not await defer(interaction):
            return
        try:
            if not permit.isdecimal():
                raise UserError("A permission is named by its number; `/permits list` shows them.")
            (gone,) = await approvals.shown([await approvals.revoke(int(permit), approver_of(interaction, "command"))])
        except UserError as error:
            await tell(interaction, str(error))
            return
        await tell(interaction, f"Ended: `{gone['id']}` {_grant_line(gone)}")

    async def standing(interaction: Interaction) -> Iterable[tuple[str, str]]:
        found = await approvals.shown(await approvals.standing(approver_of(interaction, "command")))
        return ((each["id"], _grant_line(each)) for each in found)

    suggests(command, "permit", standing)
    return command


def _line(request: Request) -> str:
    return f"{request.tool}: {request.reason}"


def _grant_line(grant: Mapping[str, Any]) -> str:
    """What an agent may do, for whose ears, until when, and who said so."""
    bound = ", ".join(f"{name}={value!r}" for name, value in grant["arguments"].items()) or "any arguments"
    until = "until revoked" if grant["until"] is None else f"until {from_text(grant['until']):%Y-%m-%d %H:%M} UTC"
    what = f"{grant['agent']}: {grant['subject']} ({bound})"
    return f"{what}, {until}, for what {grant['audience']} hears; by {grant['by'] or 'somebody who was erased'}"

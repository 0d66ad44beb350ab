"""A person (or another bot) and what such an account can do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from tests.wire import PATIENCE
from tests.wire.discord import interactions, posting, using
from tests.wire.discord.channels import Channel, DirectChannel, GuildChannel, Thread
from tests.wire.discord.drafts import store
from tests.wire.discord.errors import refuse
from tests.wire.discord.interactions import Answered, Choice, Interaction, Modal
from tests.wire.discord.messages import Draft, Message, Upload
from tests.wire.discord.people import User

if TYPE_CHECKING:
    from tests.wire.discord.world import World


SYNC_SECONDS = 60.0


class Person(User):
    """An account a test acts through.

    None of the message methods waits for anything: awaited one after the other they reach the bot in one
    burst. What Discord would refuse raises DiscordError; what a client would not even offer raises
    Impossible.
    """

    def __init__(self, world: World, name: str, global_name: str | None = None, *, bot: bool = False) -> None:
        super().__init__(next(world.ids), name, global_name, bot)
        self.world = world

    def __repr__(self) -> str:
        return f"<Person {self.username!r} {self.id}>"

    @property
    def direct(self) -> DirectChannel:
        return self.world.direct(self)

    def direct_with(self, other: Person) -> DirectChannel:
        """The direct channel between the two, without the bot."""
        return DirectChannel(self.world, next(self.world.ids), other, self)

    async def say(
        self,
        channel: Channel,
        content: str = "",
        *,
        reply_to: Message | None = None,
        ping: bool = True,
        attachments: Iterable[Upload] = (),
    ) -> Message:
        """Send a message; "<@bot>" in it stands for a mention of the bot."""
        draft = Draft(
            content=content.replace("<@bot>", self.world.bot.mention),
            attachments=[store(self.world, channel, upload) for upload in attachments],
            reply_to=reply_to,
        )
        if not ping:
            draft.allowed_mentions = {"parse": ["users", "roles", "everyone"], "replied_user": False}
        return posting.send(self.world, channel, self, draft)

    async def dm(self, content: str = "", *, attachments: Iterable[Upload] = ()) -> Message:
        """Write to the bot in private."""
        return await self.say(self.direct, content, attachments=attachments)

    async def edit(self, message: Message, content: str) -> None:
        """Change one's own message."""
        if message.author is not self:
            raise refuse(50005)
        draft = Draft(content=content.replace("<@bot>", self.world.bot.mention), attachments=message.attachments)
        posting.edit(self.world, message, draft)

    async def delete(self, message: Message) -> None:
        """Delete a message, one's own or as a moderator."""
        if message.author is not self:
            posting.require(message.channel, self, "manage_messages")
        posting.delete(self.world, message)

    async def react(self, message: Message, emoji: str) -> None:
        posting.react(self.world, message, self, emoji)

    async def unreact(self, message: Message, emoji: str) -> None:
        posting.unreact(self.world, message, self, emoji)

    async def type_in(self, channel: Channel) -> None:
        posting.type_in(self.world, channel, self)

    async def thread(self, place: Message | GuildChannel, name: str, *, private: bool = False) -> Thread:
        """Open a thread on a message, or below a channel."""
        if isinstance(place, Message):
            return posting.thread_on(self.world, place, self, name)
        return posting.thread_below(self.world, place, self, name, private=private)

    async def post(self, forum: GuildChannel, title: str, content: str) -> tuple[Thread, Message]:
        draft = Draft(content=content.replace("<@bot>", self.world.bot.mention))
        return posting.forum_post(self.world, forum, self, title, draft)

    async def command(
        self,
        path: str,
        options: Mapping[str, Any] | None = None,
        channel: Channel | None = None,
        *,
        timeout: float = PATIENCE,
    ) -> Answered:
        """Use a slash command ("memory show") and wait until its answer is there for good.

        Options may be persons, roles or channels. Without a channel it is the direct one.
        """
        place = channel or self.direct
        await self._offered()
        data = using.command_data(self.world, self, place, path, options or {})
        return await self._settled(interactions.start(self.world, 2, self, place, data), timeout)

    async def _offered(self) -> None:
        """Wait for the bot's commands, which it syncs some time after it is connected."""
        await self.world.changes.until(lambda: self.world.commands, SYNC_SECONDS, "commands to be synced")

    async def menu(self, name: str, target: Message | User, channel: Channel | None = None) -> Answered:
        """Use a context menu on a message, or on a person seen in a channel."""
        place = target.channel if isinstance(target, Message) else channel or self.direct
        await self._offered()
        data = using.menu_data(self.world, self, place, name, target)
        return await self._settled(interactions.start(self.world, 2, self, place, data), PATIENCE)

    async def autocomplete(
        self,
        path: str,
        focused: str,
        typed: str,
        channel: Channel | None = None,
        *,
        options: Mapping[str, Any] | None = None,
    ) -> list[Choice]:
        """What the bot suggests for the option being typed."""
        place = channel or self.direct
        await self._offered()
        filled = {**(options or {}), focused: typed}
        data = using.command_data(self.world, self, place, path, filled, focused=focused)
        answered = await self._settled(interactions.start(self.world, 4, self, place, data), PATIENCE)
        return answered.choices or []

    async def press(self, message: Message, button: str, *, timeout: float = PATIENCE) -> Answered:
        """Press a button, named by its custom_id or label."""
        data = using.press_data(self, message, button)
        return await self._used(message, data, timeout)

    async def select(self, message: Message, menu: str, *values: str, timeout: float = PATIENCE) -> Answered:
        """Choose from a select menu, named by its custom_id or placeholder."""
        data = using.select_data(self, message, menu, values)
        return await self._used(message, data, timeout)

    async def submit_modal(
        self, opened: Answered | Modal, values: Mapping[str, str], channel: Channel | None = None
    ) -> Answered:
        """Fill in and send a form; fields are named by custom_id or label."""
        modal = opened.modal if isinstance(opened, Answered) else opened
        if modal is None:
            raise using.Impossible("no form was opened")
        place = modal.place
        data = using.modal_data(modal, values)
        started = interactions.start(self.world, 5, self, channel or place, data, modal.source)
        return await self._settled(started, PATIENCE)

    async def _used(self, message: Message, data: dict[str, Any], timeout: float) -> Answered:
        started = interactions.start(self.world, 3, self, message.channel, data, message)
        return await self._settled(started, timeout)

    async def _settled(self, interaction: Interaction, timeout: float) -> Answered:
        """Wait for the first answer as long as Discord does, and for a deferred one until it is filled."""
        answered, changes = interaction.answered, self.world.changes
        left = self.world.settings.answer_seconds - interaction.age
        try:
            await changes.until(lambda: answered.kind is not None, left, "an answer")
        except TimeoutError:
            answered.failed = answered.kind is None
            return answered
        await changes.until(lambda: answered.settled, timeout, "the deferred answer")
        return answered

"""`carina remind`, `carina tasks` and `carina quiet`: the owner's own."""

from typing import Annotated

import typer

from bot.cli.people import Administer, Json, told

Number = Annotated[int, typer.Argument(min=1, max=2**63 - 1, help="Its id, as `carina remind list` shows it.")]


def add_agenda(app: typer.Typer, administer: Administer) -> None:
    """Put the commands into the program."""
    _add_reminders(app, administer)
    _add_tasks(app, administer)
    _add_events(app, administer)

    @app.command("quiet")
    def quiet(
        begin: Annotated[str | None, typer.Option("--from", help='When they begin, as 22:30; "" ends them.')] = None,
        end: Annotated[str | None, typer.Option("--until", help="When they end, as 7:00.")] = None,
        zone: Annotated[str | None, typer.Option(help="Your time zone, as Europe/Vienna.")] = None,
        as_json: Json = False,
    ) -> None:
        """See or set your clocks, and hours in which no reminder disturbs you."""
        administer(told("quiet", "", zone=zone, begin=begin, end=end), as_json)


def add_state(app: typer.Typer, administer: Administer) -> None:
    """Put `carina state` into the program."""

    @app.command("state")
    def state(
        word: Annotated[str, typer.Argument(metavar="[STATE]", help='A word, as overwhelmed; "none" ends it.')] = "",
        as_json: Json = False,
    ) -> None:
        """See or say how you are: a group can be there for that."""
        administer(told("state", "", word=word), as_json)


def _add_reminders(app: typer.Typer, administer: Administer) -> None:
    group = typer.Typer(help="Being told something at a time.")
    app.add_typer(group, name="remind")

    @group.command("me")
    def remind_me(
        text: Annotated[str, typer.Argument(help="What is to be said then.")],
        when: Annotated[str, typer.Argument(help='When, as "in 20 minutes", "tomorrow at 9", 2026-12-31 18:00.')],
        as_json: Json = False,
    ) -> None:
        """Be told something at a time, where you are told what concerns the service."""
        administer(told("remind.set", "", text=text, when=when), as_json)

    @group.command("list")
    def remind_list(as_json: Json = False) -> None:
        """Show your open reminders."""
        administer(told("remind.list", "You have no reminders."), as_json)

    @group.command("done")
    def remind_done(reminder: Number, as_json: Json = False) -> None:
        """You did it."""
        administer(told("remind.press", "", reminder=reminder, offer="done"), as_json)

    @group.command("snooze")
    def remind_snooze(
        reminder: Number, minutes: Annotated[int, typer.Option(min=1, max=44_640)] = 10, as_json: Json = False
    ) -> None:
        """Be told again later."""
        administer(told("remind.press", "", reminder=reminder, offer="snooze", minutes=minutes), as_json)

    @group.command("cancel")
    def remind_cancel(
        reminder: Annotated[str, typer.Argument(help="Its id, or words that stand in it.")], as_json: Json = False
    ) -> None:
        """Take a reminder back, with its repetitions."""
        administer(told("remind.cancel", "", which=reminder), as_json)


def _add_tasks(app: typer.Typer, administer: Administer) -> None:
    group = typer.Typer(help="What you want to do.")
    app.add_typer(group, name="tasks")

    @group.command("add")
    def tasks_add(
        title: Annotated[str, typer.Argument(help="What is to be done.")],
        due: Annotated[str, typer.Option(help='Until when, as "friday at 18:00".')] = "",
        priority: Annotated[str, typer.Option(help="low, medium, high or urgent.")] = "medium",
        as_json: Json = False,
    ) -> None:
        """Write a task down."""
        administer(told("tasks.add", "", title=title, due=due, priority=priority), as_json)

    @group.command("list")
    def tasks_list(
        done: Annotated[bool, typer.Option("--done", help="Also what is over.")] = False, as_json: Json = False
    ) -> None:
        """Show your tasks, the most pressing first."""
        administer(told("tasks.list", "You have no open tasks.", done=done), as_json)

    @group.command("done")
    def tasks_done(
        which: Annotated[str, typer.Argument(metavar="TASK", help="Its id, or words that stand in it.")],
        cancelled: Annotated[bool, typer.Option("--cancelled", help="It is not to be done any more.")] = False,
        as_json: Json = False,
    ) -> None:
        """A task is done."""
        administer(told("tasks.end", "", which=which, cancelled=cancelled), as_json)


def _add_events(app: typer.Typer, administer: Administer) -> None:
    group = typer.Typer(help="What happens when.")
    app.add_typer(group, name="events")

    @group.command("add")
    def events_add(
        title: Annotated[str, typer.Argument(help="What happens.")],
        when: Annotated[str, typer.Argument(help='When it begins, as "friday at 18:00", "every monday at 8".')],
        ends: Annotated[str, typer.Option(help='When it ends, as "at 19:30".')] = "",
        minutes: Annotated[int, typer.Option(min=-1, max=44_640, help="Told so long before; -1: not.")] = 15,
        as_json: Json = False,
    ) -> None:
        """Write an event down; you are told before it."""
        administer(told("events.add", "", title=title, when=when, ends=ends, minutes=minutes), as_json)

    @group.command("list")
    def events_list(days: Annotated[int, typer.Option(min=1, max=3_660)] = 31, as_json: Json = False) -> None:
        """Show what comes, the next first."""
        administer(told("events.list", "Nothing is planned.", days=days), as_json)

    @group.command("cancel")
    def events_cancel(
        which: Annotated[str, typer.Argument(metavar="EVENT", help="Its id, or words of its title.")],
        as_json: Json = False,
    ) -> None:
        """Take an event out, with its repetitions."""
        administer(told("events.cancel", "", which=which), as_json)

"""`carina jobs`: scheduled work, for the owner."""

from typing import Annotated

import typer

from bot.cli.people import Administer, Json, told

JobId = Annotated[str, typer.Argument(metavar="JOB", help="Its id, as `carina jobs list` shows it.")]


def add_jobs(app: typer.Typer, administer: Administer) -> None:
    """Put the commands into the program."""
    group = typer.Typer(help="Scheduled work: what is due when, and what came of it.")
    app.add_typer(group, name="jobs")

    @group.command("list")
    def jobs_list(
        done: Annotated[bool, typer.Option("--done", help="Also what is over.")] = False, as_json: Json = False
    ) -> None:
        """Show what is scheduled, the next first."""
        administer(told("jobs.list", "Nothing is scheduled yet; `carina run` begins.", done=done), as_json)

    @group.command("run")
    def jobs_run(job: JobId, as_json: Json = False) -> None:
        """Have a job run now, beside its plan."""
        administer(told("jobs.run", "", job=job), as_json)

    @group.command("pause")
    def jobs_pause(job: JobId, as_json: Json = False) -> None:
        """Run a job no more by itself, until it is resumed."""
        administer(told("jobs.pause", "", job=job), as_json)

    @group.command("resume")
    def jobs_resume(job: JobId, as_json: Json = False) -> None:
        """Run a job by itself again."""
        administer(told("jobs.resume", "", job=job), as_json)

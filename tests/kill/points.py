"""Every fault point of the program, and those that no message can reach."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("memory", "sources", "scheduler", "bot")

# Paths of tests begin at tests/.
EXEMPT = {
    # Tools that leave the process are there only by configuration or with a folder; `service/memory/test_folders.py`
    # kills a turn at both.
    "turn.tool_begin": "only a tool that leaves the process begins by a step of its own",
    "tool.outside": "the files of a folder that was attached, the web where it is switched on, and halting",
    "group.again": "forgets what members who all failed were asked, so that the next try asks them again",
    # Only where something fails that nobody foresaw; `tests/bot/runtime/test_supervision.py` fails there.
    "task.failed": "tells the owner that a task keeps failing; what is lost is told at its next failure",
    "inbox.lost": "tells the owner of something that could not be stored; what is lost is heard again or logged",
    # What a person chose, and what Bluesky's servers say of posts and people; each is done again after a death.
    "privacy.follow": "whose words are shown to others, made from their choice again at every start",
    "bluesky.withdraw": "our answer to a post that is gone; looked for again",
    "bluesky.suspect": "tells the owner of somebody who answers like a bot; noticed again",
    # What people's commands write, not messages; each is one transaction. Killed in `tests/bot/interfaces` and
    # `tests/bot/services`, `tests/service/delivery/test_undelivered.py` and `tests/service/test_linked_accounts.py`.
    "command.write": "a command, a button or a form",
    "web.write": "keys and requests of the dashboard and the API",
    # By `carina mcp`; what is lost is shown at the terminal by the next chat.
    "group_request.take": "a program that asked a group has its answer",
    "clock.ask": "`carina doctor` and `/owner doctor`, which only look",
    "discord.examine": "the same",
    # What an edit or a deletion takes along; a part and its row go in one unit, and what a death leaves is done at the
    # next start (`tests/bot/runtime/test_edits.py`).
    "follow_up.failed": "a part failed and is tried again",
    "follow_up.take_up": "what was given up is tried once more at a start",
    # A stranger's message is told a code and no more, which costs no turn; `tests/service/test_access.py` kills there.
    # Beside everything, after the start; what is lost is still a gap: `service/discord/test_discord_main.py`.
    "discord.open_unread": "opens the direct messages of somebody who never wrote",
    "gaps.note": "remembers what is to be read; in each place the inbox knows what it has",
    "gaps.try": "a place could not be read once more",
    "gaps.fill": "it was read; after a death it is read again, and the inbox knows what it has",
    "gaps.close": "a place cannot be read for good",
    "admission.pairing": "somebody writes who is not let in",
    # Nothing of a message waits for its vectors; `service/memory/test_embedding.py` kills the service at the write.
    "embedding.request": "asks a server for vectors",
    "embedding.choose": "the first thing that embedding does with a file",
    "embedding.store": "keeps vectors; what is lost is still queued",
    "embedding.refuse": "counts that a text was not accepted",
    # No message waits for a job; `tests/service/test_schedule.py` kills the service at the first.
    "job.queue": "a job that is due writes what is to be said or answered",
    "job.claim": "a job that takes longer is begun",
    "job.renew": "it takes longer than a third of its lease",
    "job.complete": "it is done",
    "job.hold": "it failed, or waits for a program that knows it",
    # Nothing of a message waits for these; `tests/bot/upkeep/test_compaction.py` ends the service between them.
    "compaction.model": "asks for a summary after an answer",
    "compaction.store": "keeps a summary; what is lost is made again after the next turn",
    # Calls that nobody waits for: what is lost is asked again by the next run, and what was reserved is released then.
    "background.reserve": "sets aside what such a call will cost; only with budgets",
    "background.settle": "writes down what it did cost, or that it came to nothing",
    "turn.spare": "at a halt, and at the end of the service when its time is up",
    "summaries.model": "asks for a summary of an agent or of a day",
    # No message waits for these either; `service/memory/test_summaries.py` kills the service at them and at the call.
    "summaries.agent": "keeps what an agent did lately",
    "summaries.day": "keeps what happened on a day or in a week",
    # Upkeep while nobody talks: `service/memory/test_upkeep.py` kills the service at the call, the writes of jobs and a
    # run, `tests/bot/upkeep/test_upkeep_kills.py` the program at a run, its undoing, its refusal and what people
    # decide, and a run and its undoing at every statement.
    "dreams.model": "asks what to make of entries",
    "dreams.store": "does what was thought out",
    "expansion.keep": "keeps what a model made of something saved; killed in `service/memory/test_upkeep.py`",
    "evaluations.keep": "keeps how a talk went; one that was lost is judged again",
    "dreams.refuse": "notes that a run's own checks refused it",
    "dreams.retain": "forgets what was retired ninety days ago",
    # Owners' commands; each is one transaction.
    "constellation.remove": "`carina constellation delete`; its files are moved before",
    "demo.write": "`carina demo`, in a folder that is thrown away",
    "activity.idle": "once a minute: who is not active any more",
    "session.end": "half an hour after the last turn: what a session was about; it is done again when it was cut off",
    "activity.forget": "once a minute: what is too old",
    # Only with budgets; `tests/service/test_costs_and_grants.py` kills the service with one.
    "budget.reserve": "sets aside what a call will cost",
    "budget.release": "after a call that came to nothing",
    "budget.sweep": "at a start, what a dead process had reserved",
    # A person's commands, not messages; `tests/service/test_linked_accounts.py` kills an unlinking at its points.
    "identities.part": "a step of an unlinking, and of a start after one that was cut off",
    # Folders are filled by commands, each file by a transaction of its own; `tests/bot/interfaces/test_cli_folders.py`
    # kills there.
    "filing.write": "a tool that agents have only with a folder; `service/memory/test_folders.py` kills there",
    "folders.file": "a step of `carina folder index`, and of a search in a local folder",
    "folders.end": "the last step of `carina folder index`, and of a search in a local folder",
    "damage.tell": "a notice to the owner, queued once by its key",
    # A person's commands, not messages; `service/memory/test_privacy.py` kills an erasure at its points.
    "privacy.begin": "`/privacy erase` and `carina privacy erase`",
    "privacy.erase": "a step of an erasure",
    "privacy.identities": "a step of an erasure",
    "privacy.receipt": "the last step of an erasure",
    # Bluesky has a server of its own for tests; `tests/service/test_bluesky.py` kills the service at what is written.
    "bluesky.login": "Bluesky's own tests",
    "bluesky.ask": "Bluesky's own tests",
    "bluesky.write": "Bluesky's own tests",
    "bluesky.direct": "Bluesky's own tests",
    "bluesky.subscribe": "Bluesky's own tests",
    "bluesky.acts": "Bluesky's own tests",
    "bluesky.upload": "Bluesky's own tests",
    "bluesky.profile": "`carina bluesky setup`",
    "bluesky.remove": "Bluesky's own tests",
    "bluesky.pass_over": "Bluesky's own tests",
    # Owners' commands and the dashboard's; each is one transaction.
    "chat.stop": "an answer that is stopped at the terminal",
    # A job that looks at feeds and calendars; what one look brought is known by its own id when it is looked at again.
    "sources.fail": "a look that failed",
    "sources.see": "what a look brought",
    "sources.tell": "what the owner is told of a source that keeps failing",
    # None has to do with an answer, and they wait minutes, for a caller or for a defect.
    "discord.gave_up": "tells the owner of an event that could not be handled at any try",
    # Answers through webhooks have no previews, so nothing of a webhook is ever edited or deleted for one.
    "discord.webhook_change": "changes a webhook's message; only previews are changed, and webhooks have none",
}
"""Points that handling messages does not reach, and why."""


BY_CLOCK = frozenset({"job.queue", "job.claim", "job.complete"}) | {
    "discord.typing",
    "discord.open_unread",
    "gaps.note",
    "gaps.fill",
}
"""Reached when a job of the service comes due, an answer takes a moment, or something is indexed or read back."""


_LIST = f"""
import importlib, pkgutil
from memory.store.faults import faults
for name in {PACKAGES}:
    for found in pkgutil.walk_packages(importlib.import_module(name).__path__, name + "."):
        if not found.name.endswith("__main__"):
            importlib.import_module(found.name)
print(*(point.name for point in faults.all()))
"""


def all_points() -> frozenset[str]:
    """The names of all points, by importing every module of the program.

    In a process of its own: tests declare points too, and this one may have loaded them.
    """
    return frozenset(subprocess.check_output([sys.executable, "-c", _LIST], cwd=ROOT, text=True).split())

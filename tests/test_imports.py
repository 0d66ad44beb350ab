"""What is loaded for what: a module brings no library that it does not need to be there."""

import json
import subprocess
import sys

import pytest

HEAVY = ("aiohttp", "apscheduler", "discord", "httpx", "loro", "numpy", "onnxruntime", "openai", "pydantic_ai", "rich")
LISTED = "import json, sys; print(json.dumps(sorted(sys.modules)))"


def loaded(module: str) -> set[str]:
    """The modules that are there in a process that imported this one."""
    command = [sys.executable, "-c", f"import {module}; {LISTED}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout))


@pytest.mark.parametrize(
    ("module", "allowed"),
    [
        ("memory.store.database", ()),
        ("memory.store.constellation", ()),
        ("memory.queue.inbox", ()),
        ("memory.queue.outbox", ()),
        ("memory.knowledge.facts", ()),
        ("memory.search", ()),
        ("memory.blocks", ("loro",)),
        ("memory.search.embedding", ()),
        ("memory.people.privacy", ("loro",)),
        ("sources.base", ()),
        ("sources.terminal", ()),
        ("bot.agents.context.quotes", ()),
        ("bot.agents.permissions.policy", ("loro",)),
    ],
)
def test_a_module_brings_no_library_that_it_can_do_without(module: str, allowed: tuple[str, ...]) -> None:
    found = loaded(module)
    assert module in found
    assert [name for name in HEAVY if name in found and name not in allowed] == []


def test_patterns_are_compiled_when_they_are_used() -> None:
    begin = "from memory.knowledge.facts.patterns import BEGINS, OF_SELF\n"
    show = "print('compiled' in vars(BEGINS), BEGINS.search('x'), "
    command = [
        sys.executable,
        "-c",
        begin + show + "'compiled' in vars(BEGINS), 'compiled' in vars(OF_SELF[0].pattern))",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "None", "True", "False"]

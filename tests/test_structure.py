"""What keeps the code in order: who may import whom, sizes, locked dependencies, a fault point for every write."""

import ast
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import pytest

from tests.memory.parts import store

ROOT = Path(__file__).parents[1]
PACKAGES = ("bot", "sources", "memory", "scheduler", "texts")
MAY_IMPORT = {
    "bot": {"bot", "sources", "scheduler", "memory", "texts"},
    "sources": {"sources", "memory", "texts"},
    "scheduler": {"scheduler", "memory", "texts"},
    "memory": {"memory", "texts"},
    "texts": {"texts"},
}
LAYERS = ("bot.interfaces", "bot.services", "bot.runtime", "bot.upkeep", "bot.agents", "bot.models")
"""Inside bot, from top to bottom: a package imports only what stands below it, and composition (`bot.app`) nobody."""
MEMORY_LAYERS = (
    {"portability"},
    {"coordination", "erasure", "why", "wider_audience"},
    {"blocks", "knowledge", "permission_grants"},
    {"activity", "agenda", "group_runs", "permission_requests", "search", "spending"},
    {"data_sources", "folders", "idempotent_requests", "jobs", "queue", "sleeptime_turns"},
    {"agent_groups"},
    {"agents", "people"},
    {"store"},
)
"""Inside memory, from top to bottom: what stands beside each other does not import each other either."""
STARTS = ("bot/interfaces/cli/", "bot/__main__.py")
"""The command line starts the program, so it alone may import composition."""

DOCUMENTS = (
    *("changes", "containers", "document", "history", "replay", "schema_paths", "schemas", "sequence_history"),
)
DOCUMENTS_KNOW = (
    *("memory.store.clock", "memory.store.errors", "memory.store.fulltext", "memory.store.ids"),
    *("memory.store.lazy", "memory.store.records"),
)

ONLY_IN = {
    "aiosqlite": ("memory/store/database.py",),
    "sqlite3": ("memory/store/sqlite.py",),
    "pysqlite3": ("memory/store/sqlite.py",),
    "loro": ("memory/blocks/document.py", "memory/blocks/containers.py"),
    "onnxruntime": ("memory/search/embedding/",),
    "numpy": ("memory/search/embedding/", "memory/search/vector_similarity.py"),
    "openai": (),
    "anthropic": (),
    "pydantic_ai": (),
    "atproto_client": ("sources/bluesky/",),
    "atproto_core": ("sources/bluesky/",),
    "atproto": ("sources/bluesky/",),
    "httpx": ("sources/bluesky/", "memory/search/embedding/", "bot/models/"),
    "mcp": ("bot/agents/mcp/", "bot/interfaces/mcp_server.py"),
    "mcp_types": ("bot/agents/mcp/", "bot/interfaces/mcp_server.py"),
    "jsonschema": ("bot/agents/mcp/",),
    "feedparser": ("sources/feeds.py",),
    "icalendar": ("sources/feeds.py",),
    "libipld": ("memory/portability/",),
    "cryptography": ("memory/portability/", "sources/bluesky/session.py"),
    "dotenv": ("bot/config/", "bot/interfaces/cli/data_folder.py"),
}
READS_ENVIRONMENT = ("bot/config/", "bot/interfaces/cli/data_folder.py")
BEGIN_TASKS = {
    "bot/runtime/supervision.py": "everything that lives as long as the service",
    "bot/interfaces/control/server.py": "a connection, which ends with its own request",
    "bot/interfaces/cli/": "commands: they end with what they were asked",
    "bot/services/people/person_erasure.py": "one erasure, awaited by who asked for it",
    "bot/agents/tools/halt.py": "the same of a tool",
    "bot/agents/model_call.py": "one model call, awaited by its turn",
    "bot/agents/groups/orchestrator.py": "the parts of one run, awaited by it",
    "bot/agents/mcp/": "connections to servers, each within a border of its own",
    "bot/app.py": "the task group that the supervisor is given",
}
"""Where tasks are begun in `bot`, and why they need no supervisor."""
READ_ALL = {
    "account": "what a turn used is counted; only names of tools are told",
    "change": "a task that was found within the scope, and its steps",
    "linked": "whether there is any graph",
}
"""Functions that are given a scope and read rows of any audience, and why."""
MOST_LINES = 500
MOST_FUNCTION_LINES = 60
WAIVERS = re.compile(
    r"#\s*(noqa|type:\s*ignore|pyright:\s*ignore|mypy:|ruff:\s*noqa|pragma:\s*no cover)", re.IGNORECASE
)


@dataclass(frozen=True)
class Module:
    """One source file, parsed."""

    path: str
    source: str
    tree: ast.Module

    @property
    def name(self) -> str:
        return self.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        return tuple(ast.walk(self.tree))

    def imports(self) -> Iterator[tuple[str, int]]:
        """Every module that is imported, by any spelling, with its line."""
        for node in self.nodes:
            match node:
                case ast.Import(names=names):
                    yield from ((alias.name, node.lineno) for alias in names)
                case ast.ImportFrom(module="memory", names=names, level=0):
                    yield from ((f"memory.{alias.name}", node.lineno) for alias in names)
                case ast.ImportFrom(module=module, level=0):
                    yield module or "", node.lineno
                case ast.ImportFrom():
                    yield self.path.split("/")[0], node.lineno  # relative: stays inside
                case ast.Call(args=[ast.Constant(value=str(name)), *_]) if _called(node) in (
                    "import_module",
                    "__import__",
                ):
                    yield name, node.lineno


def _called(node: ast.Call) -> str:
    match node.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


@cache
def modules() -> tuple[Module, ...]:
    paths = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
    sources = ((path.relative_to(ROOT).as_posix(), path.read_text("utf-8")) for path in paths)
    return tuple(Module(path, source, ast.parse(source)) for path, source in sources)


def at(module: Module, line: int) -> str:
    return f"{module.path}:{line}"


# -------------------------------------------------------------------------------- directions


def test_the_walk_sees_the_packages() -> None:
    assert {module.path.split("/")[0] for module in modules()} >= {"bot", "sources", "memory"}
    assert len(modules()) > 20


def wrong_imports(wrong: Callable[[Module, str], bool]) -> list[str]:
    """What modules import that they may not."""
    return [
        f"{at(module, line)} imports {name}"
        for module in modules()
        for name, line in module.imports()
        if wrong(module, name)
    ]


def test_imports_go_from_bot_down_to_memory() -> None:
    def wrong(module: Module, name: str) -> bool:
        top = name.split(".")[0]
        return top == "tests" or (top in PACKAGES and top not in MAY_IMPORT[module.path.split("/")[0]])

    assert wrong_imports(wrong) == []


def test_arrows_inside_bot_go_down() -> None:
    def height(name: str) -> int:
        return next((number for number, layer in enumerate(LAYERS) if f"{name}.".startswith(f"{layer}.")), len(LAYERS))

    def wrong(module: Module, name: str) -> bool:
        up = height(name) < height(module.name) < len(LAYERS)
        return up or (name == "bot.app" and not module.path.startswith(STARTS))

    assert wrong_imports(wrong) == []


def test_no_interface_imports_the_command_line() -> None:
    def wrong(module: Module, name: str) -> bool:
        return f"{name}.".startswith("bot.interfaces.cli.") and not module.path.startswith(STARTS)

    assert wrong_imports(wrong) == []


def test_arrows_inside_memory_go_down() -> None:
    height = {part: number for number, layer in enumerate(MEMORY_LAYERS) for part in layer}
    found = [module for module in modules() if module.name.startswith("memory.")]
    assert sorted({module.name.split(".")[1] for module in found}) == sorted(height)

    def wrong(module: Module, name: str) -> bool:
        own, other = (f"{each}..".split(".")[:2] for each in (module.name, name))
        inside = own[0] == other[0] == "memory" and other[1] not in ("", own[1])
        return inside and height[other[1]] <= height[own[1]]

    assert wrong_imports(wrong) == []


def test_what_lives_as_long_as_the_service_is_supervised() -> None:
    wrong = [
        at(module, node.lineno)
        for module in modules()
        if module.path.startswith("bot/") and not module.path.startswith(tuple(BEGIN_TASKS))
        for node in module.nodes
        if isinstance(node, ast.Call) and _called(node) in ("create_task", "ensure_future", "TaskGroup")
    ]
    assert wrong == []


def test_services_know_no_library_of_an_interface() -> None:
    assert (
        wrong_imports(
            lambda module, name: module.path.startswith("bot/services/") and name.split(".")[0] in ("discord", "click")
        )
        == []
    )


COMPOSITION = ("bot/app.py", "bot/interfaces/", "bot/services/", "bot/runtime/", "bot/upkeep/", "sources/")


def test_parts_are_made_by_their_constructors_alone() -> None:
    """A hook that is assigned later is one that can be forgotten: then what it guards is not guarded."""
    # Values of one module that are nobody's part, then those of libraries.
    own = ("self", "cls", "shown", "control", "self._control", "listening", "batch", "draft", "tally", "there", "why")
    plain = (*own, "child", "ctx", "event.current_buffer", "group", "interaction", "made", "server", "wanted")
    wrong = [
        f"{at(module, target.lineno)}: {ast.unparse(target)}"
        for module in modules()
        if module.path.startswith(COMPOSITION)
        for target in module.nodes
        if isinstance(target, ast.Attribute) and isinstance(target.ctx, ast.Store)
        if ast.unparse(target.value) not in plain
    ]
    assert wrong == []


def test_who_is_given_a_scope_reads_within_it() -> None:
    sql = (
        "SELECT m.name FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.type = 'table' AND c.name = 'audience'"
    )
    reads = re.compile(rf"\b(FROM|JOIN) ({'|'.join(row['name'] for row in store().all(sql))})\b")
    scoped = [
        (node.name, ast.unparse(node))
        for module in modules()
        for node in module.nodes
        if isinstance(node, ast.FunctionDef) and re.search(r"\bscope: Scope\b", ast.unparse(node.args))
    ]
    asks = re.compile(r"\bscope\.(bind|may_use)\(")
    assert {name for name, text in scoped if reads.search(text) and not asks.search(text)} == set(READ_ALL)


def test_documents_know_nothing_of_where_they_are_kept() -> None:
    parts = {f"memory.blocks.{each}" for each in DOCUMENTS}
    known = parts | {"memory.blocks"} | set(DOCUMENTS_KNOW)
    assert len([module for module in modules() if module.name in parts]) == len(parts)
    assert (
        wrong_imports(lambda module, name: module.name in parts and name.startswith("memory") and name not in known)
        == []
    )


def test_each_library_has_one_place_that_knows_it() -> None:
    def wrong(module: Module, name: str) -> bool:
        top = name.split(".")[0]
        return top in ONLY_IN and not module.path.startswith(ONLY_IN[top])

    assert wrong_imports(wrong) == []


def test_only_configuration_reads_the_environment() -> None:
    readers = {"environ", "environb", "getenv", "getenvb"}
    wrong = []
    for module in modules():
        if module.path.startswith(READS_ENVIRONMENT):
            continue
        for node in module.nodes:
            match node:
                case ast.Attribute(value=ast.Name(id="os"), attr=name) if name in readers:
                    wrong.append(at(module, node.lineno))
                case ast.ImportFrom(module="os", names=names) if readers & {alias.name for alias in names}:
                    wrong.append(at(module, node.lineno))
    assert wrong == []


# ---------------------------------------------------------------------------------------------- sizes and waivers


def test_files_are_short() -> None:
    lengths = {module.path: len(module.source.splitlines()) for module in modules()}
    assert {path: lines for path, lines in lengths.items() if lines > MOST_LINES} == {}


def test_functions_are_short() -> None:
    long = [
        f"{at(module, node.lineno)} {node.name}"
        for module in modules()
        for node in module.nodes
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or node.lineno) - node.lineno >= MOST_FUNCTION_LINES
    ]
    assert long == []


_EVERYTHING = re.compile(r"\b(?:Base)?Exception(?:Group)?\b")
HANDED_ON = {
    "bot/interfaces/cli/long_running_commands.py": 1,  # printed at the program's end
    "bot/runtime/conversation.py": 1,  # the turn is begun again, alone
    "bot/runtime/outbox_delivery.py": 1,
    "memory/store/database.py": 2,  # raised where the unit of work was asked for
    "scheduler/runner.py": 2,
}
"""How often a module catches everything for a function of its own to log or raise."""


def test_who_catches_everything_logs_the_traceback_or_raises() -> None:
    found = Counter(module.path for module in modules() for node in module.nodes if _hides_errors(node))
    assert found == HANDED_ON


def _hides_errors(node: ast.AST) -> bool:
    match node:
        case ast.ExceptHandler(type=caught):
            told = re.sub(r"\.info\(.*", "", "\n".join(map(ast.unparse, node.body)))  # that takes no traceback
            everything = caught is None or _EVERYTHING.search(ast.unparse(caught))
            return bool(everything) and not re.search(r"\braise\b|exc_info|\.exception\(", told)
        case ast.Call(func=ast.Name(id="suppress"), args=names):
            return any(_EVERYTHING.search(ast.unparse(each)) for each in names)
    return False


def test_no_line_waives_a_check() -> None:
    files = [*modules(), *(Module(*each) for each in _tests())]
    wrong = [
        at(module, number)
        for module in files
        for number, line in enumerate(module.source.splitlines(), 1)
        if WAIVERS.search(line) and module.path != "tests/test_structure.py"
    ]
    assert wrong == []


def _tests() -> Iterator[tuple[str, str, ast.Module]]:
    for path in sorted((ROOT / "tests").rglob("*.py")):
        yield path.relative_to(ROOT).as_posix(), path.read_text("utf-8"), ast.Module([], [])


def test_no_file_holds_two_versions_of_a_passage() -> None:
    both = re.compile(f"^(?:{'<' * 7}|{'>' * 7}) ", re.MULTILINE)
    texts = [path for ending in ("md", "toml", "sql", "json") for path in ROOT.rglob(f"*.{ending}")]
    ours = [path for path in texts if not any(part.startswith(".") for part in path.relative_to(ROOT).parts)]
    assert len(ours) > 30
    assert [str(path) for path in ours if both.search(path.read_text("utf-8"))] == []


def test_a_bound_limit_has_a_sign() -> None:
    """Without one, SQLite prepares the statement again at each use, since it plans for the number."""
    found = [each.path for each in modules() if re.search(r"LIMIT [?:]", each.source)]
    assert [path for path in found if not path.startswith("memory/search/")] == []


def test_nothing_is_printed_past_the_console() -> None:
    wrong = []
    for module in modules():
        for node in module.nodes:
            match node:
                case ast.Call(func=ast.Name(id="print" | "pprint")):
                    wrong.append(at(module, node.lineno))
                case ast.Call(func=ast.Attribute(value=ast.Attribute(value=ast.Name(id="sys")), attr="write")):
                    wrong.append(at(module, node.lineno))
    assert wrong == []


# ---------------------------------------------------------------------------------------------------- fault points


def test_fault_points_are_unique_and_made_when_modules_are_loaded() -> None:
    """Types see to it that every write is given a point; a point is made once, under a name of its own."""
    names: list[str] = []
    wrong = []
    for module in modules():
        top = {id(node.value) for node in module.tree.body if isinstance(node, ast.Assign | ast.AnnAssign)}
        for node in module.nodes:
            match node:
                case ast.Call(args=[ast.Constant(value=str(name))]) if (
                    _called(node).endswith("_point") and id(node) in top
                ):
                    names.append(name)
                case ast.Call() if _called(node) in ("commit_point", "call_point", "Point"):
                    wrong.append(at(module, node.lineno))
    assert [each for each in wrong if not each.startswith("memory/store/faults.py")] == []
    assert len(names) > 100
    assert sorted(names) == sorted(set(names))
    assert [name for name in names if not re.fullmatch(r"[a-z][a-z0-9_]*(\.[a-z0-9_]+)+", name)] == []


# ----------------------------------------------------------------------------------------------------- dependencies


def lock(name: str) -> dict[str, str]:
    """The requirements of a lock file: normalised name -> the whole entry."""
    entries = re.split(r"(?m)^(?=[A-Za-z0-9])", (ROOT / name).read_text("utf-8"))
    return {_normal(entry): entry for entry in entries if entry.strip() and not entry.startswith("#")}


def _normal(requirement: str) -> str:
    """The name of a requirement as indexes compare it."""
    found = re.match(r"[A-Za-z0-9][A-Za-z0-9._-]*", requirement)
    assert found is not None
    return re.sub(r"[-_.]+", "-", found[0]).lower()


LOCKS = ("requirements.lock", "requirements-dev.lock", "requirements-embedding.lock")


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_names_no_index(name: str) -> None:
    text = (ROOT / name).read_text("utf-8")
    assert re.findall(r"(?mi)^.*(?:https?:|file:|git\+|index-url|find-links|trusted-host).*$", text) == []


@pytest.mark.parametrize("name", LOCKS)
def test_every_locked_requirement_is_pinned_and_hashed(name: str) -> None:
    entries = lock(name)
    assert entries
    assert [key for key, entry in entries.items() if not re.match(r"[\w.\[\],-]+==\S+", entry)] == []
    assert [key for key, entry in entries.items() if not re.search(r"--hash=sha256:[0-9a-f]{64}", entry)] == []


def test_every_dependency_is_locked() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    groups = project["dependency-groups"]
    run, dev = lock("requirements.lock"), lock("requirements-dev.lock")
    needed = [*project["project"]["dependencies"], *groups["build"]]
    assert [each for each in needed if _normal(each) not in run] == []
    assert [each for each in (*needed, *groups["dev"]) if _normal(each) not in dev] == []


def test_every_part_of_the_packaged_embedder_is_locked() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    locked = lock("requirements-embedding.lock")
    assert [
        each for each in project["project"]["optional-dependencies"]["embedding"] if _normal(each) not in locked
    ] == []


def test_the_locks_pin_the_same_versions() -> None:
    run, dev = lock("requirements.lock"), lock("requirements-dev.lock")
    both = {key: entry for key, entry in lock("requirements-embedding.lock").items() if key in dev}

    def version(entry: str) -> str:
        return entry.split("==")[1].split()[0]

    assert {key: version(entry) for key, entry in run.items()} == {key: version(dev[key]) for key in run}
    assert {key: version(entry) for key, entry in both.items()} == {key: version(dev[key]) for key in both}

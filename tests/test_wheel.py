"""What is built and handed out: the wheel's files, the same each time, and the program as somebody installs it."""

import os
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("bot", "memory", "scheduler", "sources", "migrations", "texts")
SECONDS = 120


def built(target: Path, kind: str = "wheel") -> Path:
    """The file that a build makes, with nothing from a network."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(target)]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, timeout=SECONDS, check=False)
    assert done.returncode == 0, done.stderr.decode()
    (found,) = target.iterdir()
    return found


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("wheel"))


def test_everything_is_inside_of_one_package(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    version = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    assert {name.split("/")[0] for name in names} == {"carina", f"carina-{version}.dist-info"}
    assert {name for name in names if name.count("/") == 1 and name.startswith("carina/")} == {
        *("carina/__init__.py", "carina/__main__.py", "carina/carina.example.toml", "carina/.env.example")
    }


def test_every_file_of_the_packages_is_there_and_nothing_of_the_tests(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    listed = subprocess.run(["git", "ls-files", *PACKAGES, "docs/*.md"], cwd=ROOT, capture_output=True, check=True)
    tracked = {f"carina/{name}" for name in listed.stdout.decode().splitlines() if (ROOT / name).exists()}
    assert tracked - names == {"carina/bot/__main__.py"}  # `carina/__main__.py` there
    for name in (
        "bot/interfaces/operations.json",
        "docs/commands.md",
        *(f"{each}/py.typed" for each in PACKAGES if each != "migrations"),
    ):
        assert f"carina/{name}" in names
    assert [name for name in names if "/tests/" in name or name.endswith((".pyc", ".db", ".lock"))] == []


def test_a_build_gives_the_same_bytes_again(wheel: Path, tmp_path: Path) -> None:
    assert built(tmp_path / "wheel").read_bytes() == wheel.read_bytes()
    first, second = (built(tmp_path / name, "sdist") for name in ("first", "second"))
    assert first.read_bytes() == second.read_bytes()


# ------------------------------------------------------------------------------------------------------- installed


def with_ours(folder: Path, archive: Path) -> Path:
    """The interpreter of an environment with what was built, and no clone.

    What that needs comes from the environment of the tests: a path in a .pth file, whose own .pth files, and so the
    clone, are not read.
    """
    venv.create(folder, symlinks=True, with_pip=False)
    executable = folder / "bin" / "python"
    site = Path(
        subprocess.check_output([executable, "-c", "import site; print(site.getsitepackages()[0])"], text=True).strip()
    )
    (site / "others.pth").write_text(sysconfig.get_path("purelib"), "utf-8")
    install(executable, archive)
    return executable


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel, and other packages with our names."""
    executable = with_ours(tmp_path_factory.mktemp("installed"), wheel)
    for name in ("bot", "memory", "sources"):
        install(executable, namesake(tmp_path_factory.mktemp(name), name))
    return executable


def namesake(folder: Path, name: str) -> Path:
    """A package of another that has one of our names, and cannot be mistaken for ours."""
    (folder / name).mkdir()
    (folder / name / "__init__.py").write_text(f"raise RuntimeError('another {name} was loaded')\n", "utf-8")
    text = (
        '[build-system]\nrequires = ["hatchling"]\nbuild-backend = "hatchling.build"\n'
        f'[project]\nname = "{name}"\nversion = "1"\n'
    )
    (folder / "pyproject.toml").write_text(text, "utf-8")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder / "dist")]
    subprocess.run(command, cwd=folder, capture_output=True, timeout=SECONDS, check=True)
    (found,) = (folder / "dist").iterdir()
    return found


def install(python: Path, wheel: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        str(python),
        "install",
        "-q",
        "--no-deps",
        "--no-index",
        "--no-build-isolation",
        str(wheel),
    ]
    subprocess.run(command, capture_output=True, timeout=SECONDS, check=True)


def run(python: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the installed program; where the superuser tests, as nobody, if others can reach the interpreter."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "EMBEDDING_MODEL": "none", "LANG": "C.UTF-8"}
    reachable = all(above.stat().st_mode & 0o001 for above in python.resolve().parents)
    nobody = 65534 if os.geteuid() == 0 and reachable else None
    if nobody is not None:
        os.chown(folder, nobody, nobody)
        for above in (*folder.parents, *python.parents):
            if above.stat().st_mode & 0o005 != 0o005:
                above.chmod(above.stat().st_mode | 0o055)
    return subprocess.run(
        [python.with_name("carina"), *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
        user=nobody,
        group=nobody,
        extra_groups=None if nobody is None else [],
    )


@pytest.mark.slow
def test_the_wheel_works_by_itself_beside_packages_of_the_same_names(python: Path, tmp_path: Path) -> None:
    loaded = subprocess.run([python, "-c", "import memory"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "another memory was loaded" in loaded.stderr  # else the rest would show nothing
    assert run(python, tmp_path, "--version").stdout.startswith("carina ")
    assert "Wrote" in run(python, tmp_path, "init").stdout
    said = run(python, tmp_path, "chat", "--once", "remember that my dog is Rex")
    assert (said.stdout, said.stderr) == ("I'll remember: your dog is Rex.\n", "")
    assert "Rex" in run(python, tmp_path, "chat", "--once", "who is my dog?").stdout
    examined = run(python, tmp_path, "doctor")
    assert (examined.returncode, "database: 2 files, all up to date" in examined.stdout) == (0, True)
    assert "Set a reminder" in run(python, tmp_path, "remind", "--help").stdout


@pytest.mark.slow
def test_the_source_distribution_can_be_installed_and_answers(tmp_path: Path) -> None:
    python, folder = with_ours(tmp_path / "installed", built(tmp_path / "built", "sdist")), tmp_path / "folder"
    folder.mkdir()
    assert run(python, folder, "--version").stdout.startswith("carina ")
    said = run(python, folder, "chat", "--once", "remember that my dog is Rex")
    assert (said.stdout, said.stderr) == ("I'll remember: your dog is Rex.\n", "")

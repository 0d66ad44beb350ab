"""`make wizard`: docs/wizard.svg, the questions of `carina init` as somebody answers them, from a real run."""

import tempfile
from contextlib import closing
from html import escape
from pathlib import Path

from tests.bot.terminals import Terminal

PICTURE = Path(__file__).parents[1] / "docs" / "wizard.svg"
_COLUMNS, _LINES = 110, 60
_ANSWERS = (
    ("Name of the constellation", ""),
    ("What the agents call you", "Robin"),
    ("Language model", ""),
    ("Discord bot token", ""),
    ("Bluesky handle", ""),
    ("Search by meaning", ""),
    ("Dashboard", ""),
    ("Start Carina automatically", ""),
)
_MORE = {"LOGNAME": "robin", "EMBEDDING_MODEL": "packaged"}
_STEP, _HIGH, _WIDE = 1.2, 20, 8.4  # seconds between answers, and pixels of a line and of a character


def recorded(folder: Path) -> list[list[str]]:
    """What is on the screen at each question, and at the end."""
    screens = []
    with closing(Terminal(folder, "init", LINES=str(_LINES), COLUMNS=str(_COLUMNS), **_MORE)) as terminal:
        for question, answer in _ANSWERS:
            terminal.shows(f"{question}[^\n]*:")
            terminal.type(answer)
            terminal.shows(f"{question}[^\n]*:.*{answer}")
            screens.append(terminal.screen)
            terminal.type("\r")
        terminal.shows(r"\d to check")
        terminal.ended()
        screens.append(terminal.screen)
    return [each.replace(str(folder), "~/carina").splitlines() for each in screens]


def drawn(screens: list[list[str]]) -> str:
    last, lines = screens[-1], []
    for number, line in enumerate(last):
        since = next(step for step, screen in enumerate(screens) if len(screen) > number)
        at = f'x="16" y="{(number + 2) * _HIGH}" style="animation-delay:{since * _STEP:.1f}s"'
        lines.append(f'<text {at} xml:space="preserve">{escape(line)}</text>')
    width, height = round(32 + _WIDE * max(map(len, last))), (len(last) + 2) * _HIGH
    style = (
        "text{font:14px ui-monospace,Menlo,Consolas,monospace;fill:#e6e6e6;animation:shown .01s both}"
        "@keyframes shown{from{opacity:0}to{opacity:1}}"
        "@media (prefers-reduced-motion:reduce){text{animation:none}}"
    )
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" aria-label="carina init">'
    )
    back = f'<rect width="{width}" height="{height}" rx="8" fill="#1b1d23"/>'
    return "\n".join([head, f"<style>{style}</style>", back, *lines, "</svg>", ""])


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="carina-") as name:
        PICTURE.write_text(drawn(recorded(Path(name))), "utf-8")

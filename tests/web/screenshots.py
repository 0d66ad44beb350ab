"""`make screenshots`: pictures of the demo for README and docs, taken by the Chromium that is installed."""

import asyncio
import os
import shutil
import subprocess
import sys
from pathlib import Path

from playwright.async_api import Browser, ViewportSize, async_playwright

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "screenshots"
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
NAMES = ("chromium", "chromium-browser", "google-chrome")
BLOCK = "/memory/block?label=human"
PAGES = {"overview": "/", "chat": "/chat/Carina", "memory": BLOCK, "graph": "/graph", "costs": "/costs"}
MORE = {
    name.partition("?")[0].replace("/", "-"): f"/{name}"
    for name in (
        "approvals", "schedule", "nights", "agents", "people", "context", "settings", "chat/Carina/why", "messages",
        "search?text=Lisbon", "logs", "commands", "groups/Workshop", "commands/privacy.erase",
    )
}  # fmt: skip
"""Looked at by whoever changes the pages, with `python -m tests.web.screenshots FOLDER all`."""
WIDE: ViewportSize = {"width": 1280, "height": 860}
PHONE: ViewportSize = {"width": 360, "height": 780}


def chromium() -> str:
    """The path of the browser; empty where there is none."""
    return next(filter(None, map(shutil.which, NAMES)), "")


async def _taken(browser: Browser, link: str, folder: Path, every: bool) -> None:
    address = link.rpartition("/login")[0]
    signed_in = await browser.new_context(viewport=WIDE)
    page = await signed_in.new_page()
    await page.goto(link)
    await page.wait_for_url(f"{address}/")
    first = await page.request.get(f"{address}/api/v1/inbox.list?limit=30")
    rows = [each["id"] for each in await first.json() if each["source"] == "api"]
    row = rows[1]  # the newest with several steps
    cookies = await signed_in.storage_state()
    for dark in (False, True):
        for size, viewport in (("", WIDE), *((("-phone", PHONE),) if every else ())):
            context = await browser.new_context(
                storage_state=cookies, viewport=viewport, color_scheme="dark" if dark else "light"
            )
            seen = await context.new_page()
            for name, where in {**PAGES, "message": f"/messages/{row}", **MORE}.items():
                if name in MORE and not every:
                    continue
                await seen.goto(f"{address}{where}")
                if name == "memory":
                    await seen.locator("#version").fill("2")
                await seen.wait_for_timeout(500)
                await seen.screenshot(
                    path=folder / f"{name}{size}{'-dark' if dark else ''}.png", full_page=name in MORE
                )
            await context.close()


async def take(folder: Path, every: bool) -> None:
    """Start the demo, and take every picture of it."""
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "bot", "demo"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    demo = subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True)
    try:
        assert demo.stdout is not None
        link = demo.stdout.readline().strip()
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=chromium(), args=ARGUMENTS)
            await _taken(browser, link, folder, every)
            await browser.close()
    finally:
        demo.terminate()
        demo.wait(30)


if __name__ == "__main__":
    if not chromium():
        sys.exit("Install Chromium first, such as with: apt-get install chromium")
    asyncio.run(take(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER, "all" in sys.argv))

"""What an answer costs over the HTTP API beside the terminal: one service, the offline model, real sockets."""

import time
from contextlib import aclosing
from functools import partial
from pathlib import Path

from bot.interfaces.control.async_client import Holder
from memory.store.data_folder import DataFolder
from memory.store.ids import snowflakes
from sources.terminal import ONCE
from tests.benchmarks.options import Options, in_folder
from tests.benchmarks.report import Measure, Report, percentile
from tests.benchmarks.words import Words
from tests.web.site import site

_ANSWERS, _WARM = 100, 10


async def _measure(folder: Path, options: Options) -> list[dict[str, list[float]]]:
    """Each round's milliseconds from what is said to the end of its answer; both ways in turn."""
    async with site(folder) as s:
        http, words = await s.program("chat"), Words(17)
        holder = Holder(DataFolder(folder / "data"))

        async def over_the_api(text: str) -> bool:
            body = {"model": "carina/Carina", "messages": [{"role": "user", "content": text}]}
            found = (await http.post("/v1/chat/completions", json=body)).raise_for_status().json()
            return bool(found["choices"][0]["message"]["content"])

        async def at_the_terminal(text: str) -> bool:
            said = {"text": text, "external_id": f"{ONCE}{snowflakes.next()}"}
            async with aclosing(holder.call("once", **said)) as shown:
                return "Message" in [each["kind"] async for each in shown]

        rounds = []
        for number in range(options.rounds + 1):
            times: dict[str, list[float]] = {"terminal": [], "API": []}
            for _ in range(options.scaled(_ANSWERS) if number else _WARM):
                for name, say in (("terminal", at_the_terminal), ("API", over_the_api)):
                    begin = time.perf_counter()
                    if not await say(words.sentence()):
                        raise RuntimeError(f"{name}: no answer")
                    times[name].append(1000 * (time.perf_counter() - begin))
            rounds.append(times)
        return rounds[1:]


def run(options: Options) -> Report:
    rounds = in_folder(partial(_measure, options=options))
    report = Report("Chat over the API and at the terminal, without a model")
    for share in (0.5, 0.95):
        terminal, api = (tuple(percentile(each[name], share) for each in rounds) for name in ("terminal", "API"))
        more = tuple(one - other for one, other in zip(api, terminal, strict=True))
        for what, found in (("terminal", terminal), ("API", api), ("API beyond the terminal", more)):
            report.measures.append(Measure(f"{what}, p{share * 100:.0f}", "ms", found))
    return report

"""`carina init` at a terminal: questions, with each answer tried at once."""

import asyncio
import io
from collections.abc import Mapping, Sequence
from typing import Any

import aiohttp
import click
import segno
from msgspec import Struct, field
from prompt_toolkit import PromptSession
from prompt_toolkit.completion import WordCompleter

from bot.config import OFFLINE, Config, load_here
from bot.config.values import KEY_OF_PROVIDER
from bot.errors import ConfigError, UserError
from bot.interfaces.cli import streams
from bot.interfaces.cli.automatic_startup import no_manager
from bot.interfaces.cli.doctor import examine_bluesky, examine_discord, examine_models
from bot.interfaces.cli.wizard.init import WriteFile, check_config, current_environment, require_new
from bot.services.status_texts import finding_text
from memory.store.clock import utc_now
from sources.discord.markup import application_of, invite_url
from sources.findings import Finding, State
from sources.terminal import local_name
from texts import _, error_text, ngettext

_LOCAL = {"Ollama": "http://127.0.0.1:11434/v1", "LM Studio": "http://127.0.0.1:1234/v1"}
_OFFICIAL = {"openai": "https://api.openai.com/v1", "anthropic": "https://api.anthropic.com/v1"}
_EXAMPLES = {
    "openai": "gpt-5-mini",
    "anthropic": "claude-haiku-4-5",
    "google": "gemini-2.5-flash",
    "groq": "llama-3.3-70b-versatile",
    "mistral": "mistral-small-latest",
}
"""A model of each provider, the default answer."""
_LOOK_SECONDS = 5.0


def ask_settings(given: Mapping[str, Any]) -> tuple[dict[str, Any] | None, bool]:
    """The answers, including those given as flags, and whether to start Carina automatically; None for the answers if
    the person keeps everything.

    Raises UserError if the person stops, or if a starter is for a file that exists.
    """
    config = load_here(beginning=True)
    if given:
        require_new(config.file)
    try:
        answers, starts = asyncio.run(Wizard(dict(given), config).run())
    except (EOFError, KeyboardInterrupt):
        raise UserError("Stopped. Nothing was written.") from None
    if not answers and config.file.exists():
        click.echo(_("Nothing was changed."))
        return None, False
    return answers, starts


class Wizard(Struct):
    given: dict[str, Any]
    now: Config
    """The existing configuration, or the default one."""
    local: dict[str, Sequence[str]] = field(default_factory=dict)
    """Servers on this machine, with their models."""

    async def run(self) -> tuple[dict[str, Any], bool]:
        click.echo(_("Press Enter to keep what is in brackets. Ctrl-C stops; nothing is written until the end.\n"))
        if again := self.now.file.exists():
            click.echo(streams.wrapped(_("{file} stays as it is. Your answers go into .env.", file=self.now.file)))
        else:
            await self._ask("name", _("Name of the constellation"), "home")
            await self._ask("owner", _("What the agents call you"), local_name())
        await self._model()
        await self._discord()
        await self._bluesky()
        if again:
            return self.given, False
        for name, question, values in (
            ("embedder", _("Search by meaning? (y/n)"), ("none", "packaged")),
            ("web", _("Dashboard in your browser? (y/n)"), ("off", "on")),
        ):
            if name not in self.given:
                self.given[name] = values[await self._agreed(question, default=True)]
        if why := no_manager():
            click.echo(streams.wrapped(why))
            return self.given, False
        return self.given, await self._agreed(_("Start Carina automatically? (y/n)"))

    async def _model(self) -> None:
        if "model" in self.given:
            return
        names = await asyncio.gather(*(models_of(url) for url in _LOCAL.values()))
        self.local = {each: found for each, found in zip(_LOCAL, names, strict=True) if found}
        for name, found in self.local.items():
            click.echo(
                _(
                    "{name} runs on this machine, with {models}.",
                    name=name,
                    models=ngettext("{count} model", "{count} models", len(found)),
                )
            )
        choices, usual = (OFFLINE, *self.local, *KEY_OF_PROVIDER), next(iter(self.local), OFFLINE)
        around, kept = current_environment(self.now.file), self.now.model.default
        usual = usual if kept == OFFLINE else kept
        keys = {name: around.get(variable, "") for name, variable in KEY_OF_PROVIDER.items()}
        says = _("The offline model answers by fixed rules. The others are language models: {names}.")
        click.echo(streams.wrapped(says.format(names=", ".join(choices[1:]))))
        while True:
            chosen = await self._read(_("Language model"), usual, choices)
            if chosen == kept:
                return
            if chosen == OFFLINE:
                self.given["model"] = OFFLINE
                return
            chosen, _colon, named = chosen.partition(":")  # "openai:gpt-5-mini" answers both questions
            if chosen not in choices:
                click.echo(
                    _("“{value}” is not available. Choose from: {names}.", value=chosen, names=", ".join(choices))
                )
                continue
            usual, local = chosen, chosen in self.local
            provider, url = ("openai", _LOCAL[chosen]) if local else (chosen, _OFFICIAL.get(chosen, ""))
            key = "" if local else await self._key(chosen, keys.get(chosen, ""))
            if not key and not local:
                click.echo(_("{chosen} needs a key.", chosen=chosen))
                continue
            keys[chosen] = key
            known = self.local[chosen] if local else await models_of(url, provider, key)
            if known:
                more = ", ..." if len(known) > 20 else ""
                click.echo(_("Models: {names}", names=", ".join(known[:20]) + more))
            model = named or await self._read(_("Model"), known[0] if local else _EXAMPLES[provider], known)
            if not local and (provider != "openai" or around.get("OPENAI_BASE_URL") not in _LOCAL.values()):
                url = ""  # a local server that was configured before is not OpenAI's
            answers = {"model": f"{provider}:{model}", "api_key": key, "base_url": url}
            if (config := self._config(answers)) is None:
                continue
            click.echo(streams.wrapped(_("Waiting for {model} to answer…", model=config.model.default)))
            if await self._accepted(await examine_models(config, utc_now, {config.model.default: ""})):
                self.given |= {name: value for name, value in answers.items() if value}
                return

    async def _key(self, provider: str, there: str) -> str:
        """The key for a provider; Enter keeps the one that is set or was given before."""
        question = _("Key for {chosen} (Enter: the one given)") if there else _("Key for {chosen}")
        return await self._read(question.format(chosen=provider), secret=True) or there

    async def _discord(self) -> None:
        while "discord_token" not in self.given:
            there = self.now.discord_token is not None
            question = (
                _("Discord bot token (Enter: the one given)") if there else _("Discord bot token (Enter: no Discord)")
            )
            token = await self._read(question, secret=True)
            if not token:
                return
            if self._config({"discord_token": token}) is None:
                continue
            if application_of(token) is None:
                click.echo(_("That is not a bot token. The token is in Discord's developer portal, under “Bot”."))
                continue
            answers, config = {"discord_token": token}, None
            while config is None:
                owner = self.given.pop("discord_owner", "")
                answers["discord_owner"] = owner or await self._read(_("Your Discord user ID (Enter: no owner)"))
                config = self._config(answers)
            if await self._accepted(await examine_discord(config)):
                self.given |= {name: value for name, value in answers.items() if value}
        if (application := application_of(str(self.given["discord_token"]))) is not None:
            click.echo(invitation(application))

    async def _bluesky(self) -> None:
        while "bluesky_handle" not in self.given:
            kept = self.now.bluesky_handle
            handle = await self._read(_("Bluesky handle") if kept else _("Bluesky handle (Enter: no Bluesky)"), kept)
            if handle == kept:
                return
            if self._config({"bluesky_handle": handle, "bluesky_password": "unknown"}) is None:
                continue
            answers = {"bluesky_handle": handle, "bluesky_password": await self._read(_("App password"), secret=True)}
            config = self._config(answers)
            if config is not None and await self._accepted(await examine_bluesky(config, None)):
                self.given |= answers

    def _config(self, answers: Mapping[str, str]) -> Config | None:
        """A configuration of these answers, to test them; None if they are invalid, after printing why.

        It includes other variables of the environment and .env, such as BLUESKY_SERVICE.
        """
        said = WriteFile.model_construct(None, **{name: value for name, value in answers.items() if value})
        try:
            return check_config(said.toml(""), said.environment(), current_environment(self.now.file))
        except (ConfigError, UserError) as error:
            click.echo(error_text(error))
            return None

    async def _accepted(self, found: Sequence[Finding]) -> bool:
        """Show the findings of a test; with a problem, ask whether to keep the answer."""
        for each in found:
            click.echo(streams.wrapped(finding_text(each)))
        if not any(each.state is State.PROBLEM for each in found):
            return True
        return await self._agreed(_("Keep it anyway? (y/n)"))

    async def _ask(self, name: str, question: str, default: str) -> None:
        if name not in self.given:
            self.given[name] = await self._read(question, default)

    async def _agreed(self, question: str, *, default: bool = False) -> bool:
        usual = _("y") if default else _("n")
        while (found := streams.parse_yes(await self._read(question, usual))) is None:
            click.echo(_("Answer y or n."))
        return found

    async def _read(
        self, question: str, default: str = "", choices: Sequence[str] = (), *, secret: bool = False
    ) -> str:
        session: PromptSession[str] = PromptSession(completer=WordCompleter([*choices]), is_password=secret)
        shown = f"{question} [{default}]: " if default else f"{question}: "
        return (await session.prompt_async(shown)).strip() or default


def invitation(application: int) -> str:
    """The link that adds the bot to a server, also as a QR code for a phone."""
    link, picture = invite_url(application), io.StringIO()
    segno.make(link, micro=False).terminal(picture, compact=True)
    return _("Add the bot to a server: {link}\n{picture}", link=link, picture=picture.getvalue())


async def models_of(url: str, provider: str = "openai", key: str = "") -> list[str]:
    if not url:
        return []
    headers = {"Authorization": f"Bearer {key}"} if provider == "openai" else {"x-api-key": key}
    if provider == "anthropic":
        headers["anthropic-version"] = "2023-06-01"
    try:
        async with (
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=_LOOK_SECONDS)) as session,
            session.get(f"{url}/models", headers=headers) as response,
        ):
            found = await response.json()
            return sorted(str(each["id"]) for each in found["data"])
    except (aiohttp.ClientError, TimeoutError, ValueError, KeyError, TypeError):
        return []

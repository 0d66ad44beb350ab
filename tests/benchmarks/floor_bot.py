"""The floor: the least that answers a mention with a model, discord.py's client and the provider's own library."""

import os
import sys

import discord
import openai

intents = discord.Intents.none()
intents.guilds = intents.messages = intents.message_content = True
client = discord.Client(intents=intents)
model = openai.AsyncOpenAI()


@client.event
async def on_ready() -> None:
    sys.stderr.write('{"event": "ready", "front_end": "discord"}\n')
    sys.stderr.flush()


@client.event
async def on_message(message: discord.Message) -> None:
    if message.author.bot or client.user not in message.mentions:
        return
    stream = await model.chat.completions.create(
        model="scripted", messages=[{"role": "user", "content": message.content}], stream=True
    )
    pieces = [chunk.choices[0].delta.content or "" async for chunk in stream if chunk.choices]
    await message.channel.send("".join(pieces))


client.run(os.environ["DISCORD_TOKEN"], log_handler=None)

"""Reminders and tasks in English."""

import re

from bot.models.offline.language import AgendaWords, pattern, whole

_ASKING = r"(?:(?:can|could|will|would) you )?(?:please )?"

AGENDA = AgendaWords(
    remind=(
        pattern(rf"{_ASKING}remind me\b(?! (?:what|where|who|which|when|how|again)\b)(?P<what>.*)$"),
        pattern(rf"{_ASKING}(?:set|create|add|make) (?:me )?a reminder\b(?: for me)?(?P<what>.*)$"),
        pattern(rf"(?P<first>.{{2,60}}?),? {_ASKING}remind me\b(?P<what>.*)$"),
    ),
    lead=re.compile(r"^[\s,:]*(?:(?:for|to|that|about|of) )?(?:i (?:have|need) to )?|[\s,.!?]+$", re.IGNORECASE),
    reminders=whole(
        r"(?:what are|show(?: me)?|list)(?: all)?(?: of)? (?:my )?reminders|what (?:will|do) you (?:have to "
        r")?remind me of|"
        r"do i have (?:any )?reminders"
    ),
    task=(
        pattern(
            rf"{_ASKING}(?:add|new|create|make)(?: me)?(?: a| another)?(?: new)? (?:task|to-?do)(?: for me)?\s*"
            r"(?::|,|to\b|called\b|-)?\s*(?P<what>.*)$"
        ),
        pattern(
            rf"{_ASKING}(?:add|put) (?P<what>.{{1,300}}?) (?:to|on) my (?:tasks|to-?dos?|to-?do list|task list|"
            rf"list)\W*$"
        ),
    ),
    tasks=whole(
        r"(?:what are|what's|show(?: me)?|list)(?: all)?(?: of)? (?:on )?(?:my )?(?:open )?(?:tasks|to-?dos?|"
        r"to-?do list|task list)|"
        r"what (?:do i (?:have|need) to do|is on my (?:to-?do )?list)(?: today)?|do i have (?:any )?(?:open )?tasks"
    ),
    done=(
        pattern(r"(?:i(?:'m| am) )?(?:done|finished) with (?:the |my )?(?:task )?(?P<what>.*)$"),
        pattern(
            r"(?:i (?:have )?(?:finished|completed)|mark) (?:the |my )?(?:task )?(?P<what>.{1,300}?)(?: (?:as "
            r")?done)?\W*$"
        ),
    ),
    reminded="I will remind you, {when}: {text}.",
    remind_when=(
        "When shall I remind you? For example “remind me in 20 minutes to call mum” or “remind me tomorrow at 9 to …”."
    ),
    remind_what="What shall I remind you of? For example “remind me in 20 minutes to call mum”.",
    listed="I will remind you of:",
    none="You have no reminders that I may speak of here.",
    added="I wrote it down: {text}.",
    tasks_listed="Your open tasks:",
    tasks_none="You have no open tasks that I may speak of here.",
    finished="Done: {text}.",
    not_found="I found no single open task or reminder for {text}. “What are my tasks?” lists them.",
)

"""Reminders, tasks and events in English."""

import re

from bot.models.offline.language import AgendaWords, pattern, whole

_ASKING = r"(?:(?:can|could|will|would) you )?(?:please )?"

_SOON = r"(?: (?:for )?(?:today|tomorrow|(?:this|next) week|(?:this|next) month))?"

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
    event=(
        pattern(
            rf"{_ASKING}(?:(?:add|create|make|new)(?: me)?(?: an?| another)?(?: new)? event|new (?:appointment|"
            r"meeting))\b(?: for me)?\s*(?::|,|called\b|for\b|-)?\s*(?P<what>.*)$"
        ),
        pattern(
            rf"{_ASKING}(?:add|put|write|enter) (?P<what>.{{1,300}}?) (?:in|into|to|on) (?:my|the) "
            r"(?:calendar|diary)\W*$"
        ),
        pattern(
            rf"{_ASKING}(?:add|put|write|enter) (?:in|into|to|on) (?:my|the) (?:calendar|diary)[\s:,-]*(?P<what>.+)$"
        ),
    ),
    events=whole(
        r"(?:what's|what is|what do i have)(?: coming up| planned)? (?:in|on) (?:my|the) (?:calendar|diary|schedule)"
        rf"{_SOON}|(?:what are|show(?: me)?|list)(?: all)?(?: of)? my (?:upcoming |next )?(?:events|appointments|"
        rf"calendar){_SOON}|(?:what|which|do i have)(?: any)?(?: upcoming)? (?:events|appointments)(?: do i have)?"
        rf"{_SOON}"
    ),
    cancel=(
        pattern(
            rf"{_ASKING}(?:cancel|delete|remove) (?:the |my )?(?:event|appointment|reminder|task)"
            r"(?: (?:to|of|about|called|for))?\b[\s:]*(?P<what>.+)$"
        ),
        pattern(
            rf"{_ASKING}(?:cancel|delete|remove) (?:the |my )?(?P<what>.{{1,200}}?) "
            r"(?:event|appointment|reminder|task|(?:from|in) my calendar)\W*$"
        ),
        pattern(rf"{_ASKING}cancel (?:the|my) (?P<what>.{{1,100}})$"),
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
    event_added="I wrote it down, {when}: {text}.",
    event_when="When is it? For example “add an event: dinner on friday at 19:00”.",
    event_what="What happens then? For example “add an event: dinner on friday at 19:00”.",
    events_listed="What comes:",
    events_none="Nothing is planned that I may speak of here.",
    cancelled="Cancelled: {text}.",
    not_found=(
        "I found nothing, or more than one, for {text}. “What are my tasks?”, “… my reminders?” and “… my events?” "
        "list them."
    ),
)

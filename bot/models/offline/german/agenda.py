"""Reminders, tasks and events in German."""

import re

from bot.models.offline.language import AgendaWords, pattern, whole

_POLITE = r"(?:bitte )?(?:(?:kannst|könntest|würdest|magst) du )?(?:mich )?(?:bitte )?"

AGENDA = AgendaWords(
    remind=(
        pattern(rf"{_POLITE}erinnere? mich\b(?: bitte)?(?P<what>.*)$"),
        pattern(
            r"(?:bitte )?(?:kannst|könntest|würdest|magst) du mich (?P<what>.*?) erinnern(?:\W*$|,\s*(?P<more>.*)$)"
        ),
        pattern(r"(?P<first>.{2,60}?),? (?:bitte )?erinnere? mich\b(?: bitte)?(?P<what>.*)$"),
        pattern(rf"{_POLITE}(?:stell|setz|mach|erstelle?)e? (?:mir )?(?:bitte )?eine erinnerung\b(?P<what>.*)$"),
    ),
    lead=re.compile(
        r"^[\s,:]*(?:(?:daran|dran)[\s,]*)?(?:(?:dass|fürs?|ans?|zu|zum|zur)\b\s*)?"
        r"(?:(?:den|die|das|dem|der|meine[nrm]?|mein)\b\s*)?|[\s,.!?]+$",
        re.IGNORECASE,
    ),
    reminders=whole(
        r"(?:was sind|zeig(?:e)?(?: mir)?|liste)(?: alle)? (?:meine )?erinnerungen(?: auf)?|woran erinnerst du mich|"
        r"welche erinnerungen habe ich|habe ich (?:noch )?erinnerungen"
    ),
    task=(
        pattern(
            r"(?:bitte )?(?:neue aufgabe|(?:erstelle?|schreib(?:e)?|notiere?|leg(?:e)?)(?: mir)? (?:bitte )?"
            r"(?:eine )?(?:neue )?aufgabe(?: an| auf)?)\s*(?::|,|-)?\s*(?P<what>.*)$"
        ),
        pattern(
            r"(?:bitte )?(?:setz(?:e)?|schreib(?:e)?|pack(?:e)?) (?P<what>.{1,300}?) auf (?:meine|die) "
            r"(?:aufgaben)?liste\W*$"
        ),
    ),
    tasks=whole(
        r"(?:was sind|zeig(?:e)?(?: mir)?|liste)(?: alle)? (?:meine )?(?:offenen )?aufgaben(?: auf)?|"
        r"was (?:muss|habe) ich (?:noch |heute |alles )*(?:zu )?(?:tun|machen|erledigen)|"
        r"welche aufgaben habe ich(?: noch)?|was steht auf meiner (?:aufgaben)?liste"
    ),
    done=(
        pattern(r"(?:ich bin )?fertig mit (?:der |dem |den |meiner |meinem )?(?:aufgabe )?(?P<what>.*)$"),
        pattern(r"(?:die )?(?:aufgabe )?(?P<what>.{1,300}?) (?:ist|sind|habe ich) (?:erledigt|abgehakt)\W*$"),
        pattern(r"ich habe (?P<what>.{1,300}?) (?:erledigt|abgehakt)\W*$"),
    ),
    event=(
        pattern(
            r"(?:bitte )?(?:neuer termin|(?:erstelle?|schreib(?:e)?|notiere?)(?: mir)? (?:bitte )?(?:einen )?"
            r"(?:neuen )?termin(?: auf)?)\s*(?::|,|-)?\s*(?P<what>.*)$"
        ),
        pattern(
            r"(?:bitte )?(?:trag(?:e)?|setz(?:e)?|schreib(?:e)?) (?P<what>.{1,300}?) in (?:meinen|den) kalender"
            r"(?: ein)?\W*$"
        ),
    ),
    events=whole(
        r"was (?:steht|ist) in meinem kalender|(?:was sind|zeig(?:e)?(?: mir)?|liste)(?: alle)? (?:meine |die )?termine"
        r"(?: auf)?|zeig(?:e)?(?: mir)? meinen kalender|welche termine habe ich(?: noch| heute| morgen| diese woche)?|"
        r"habe ich (?:heute |morgen |noch )?termine"
    ),
    cancel=(
        pattern(
            r"(?:bitte )?(?:streich(?:e)?|lösch(?:e)?|entfern(?:e)?|sag(?:e)?) (?:den |die |meinen |meine )?"
            r"(?:termin|erinnerung|aufgabe)(?: an)?[\s:]+(?P<what>.{1,200}?)(?: ab)?\W*$"
        ),
    ),
    reminded="Ich erinnere dich, {when}: {text}.",
    remind_when=(
        "Wann soll ich dich erinnern? Zum Beispiel „erinnere mich in 20 Minuten an die Wäsche“ oder „… morgen um 9 …“."
    ),
    remind_what="Woran soll ich dich erinnern? Zum Beispiel „erinnere mich in 20 Minuten an die Wäsche“.",
    listed="Daran erinnere ich dich:",
    none="Du hast keine Erinnerungen, von denen ich hier sprechen darf.",
    added="Ich habe es aufgeschrieben: {text}.",
    tasks_listed="Deine offenen Aufgaben:",
    tasks_none="Du hast keine offenen Aufgaben, von denen ich hier sprechen darf.",
    finished="Erledigt: {text}.",
    event_added="Ich habe es aufgeschrieben, {when}: {text}.",
    event_when="Wann ist das? Zum Beispiel „neuer Termin: Essen am Freitag um 19 Uhr“.",
    event_what="Was ist dann? Zum Beispiel „neuer Termin: Essen am Freitag um 19 Uhr“.",
    events_listed="Was kommt:",
    events_none="Es ist nichts geplant, wovon ich hier sprechen darf.",
    cancelled="Gestrichen: {text}.",
    not_found=(
        "Zu {text} habe ich nichts oder mehreres gefunden. „Was sind meine Aufgaben?“, „… meine Erinnerungen?“ und „… "
        "meine Termine?“ zeigen es."
    ),
)

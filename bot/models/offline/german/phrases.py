"""What the offline model says in German."""

from bot.models.offline.language import Phrases

GERMAN_PHRASES = Phrases(
    saved="Ich merke mir: {fact}.",
    saved_list="Ich merke mir:",
    already="Das wusste ich schon: {fact}{source}.",
    told="Du hast mir gesagt: {fact}{source}.",
    told_colon="Du hast mir gesagt: {fact}{source}.",
    told_list="Das hast du mir gesagt:",
    nearest="Genau das weiß ich nicht. Am nächsten kommt:",
    earlier="Davor war es: {fact}{source}.",
    other_told="Von dir weiß ich das nicht, aber {speaker} hat mir gesagt: {fact}{source}.",
    noted="In meinen Notizen steht: {fact}{source}.",
    source=" ({})",
    source_time="am {date} um {time} UTC",
    source_place="in {place}",
    at_terminal="am Terminal",
    in_direct="in Direktnachrichten",
    quote="„{}“",
    join=", ",
    unknown="Das weiß ich nicht. Ich habe dazu nichts in meinem Gedächtnis gefunden{looked}.",
    looked=" (durchsucht: Einträge {entries}, Nachrichten {messages})",
    no_model="Es ist kein Sprachmodell eingerichtet, deshalb kann ich nur aus dem Gedächtnis antworten; die "
    "Einstellung "
    "{setting} nennt eines (zum Beispiel `openai:gpt-5-mini`).",
    model_key="Mein Schlüssel für das Sprachmodell `{model}` wird abgelehnt, deshalb kann ich nur aus dem Gedächtnis "
    "antworten; er steht in der Einstellung {setting}.",
    model_missing="Das Sprachmodell `{model}` ist bei seinem Anbieter unbekannt, deshalb kann ich nur aus dem "
    "Gedächtnis antworten; die Einstellung {setting} nennt es.",
    model_quota="Was ich vom Sprachmodell `{model}` nutzen darf, ist aufgebraucht, deshalb kann ich nur aus dem "
    "Gedächtnis antworten.",
    model_budget="Was für ein Sprachmodell ausgegeben werden darf, ist vorerst verbraucht, deshalb kann ich nur aus "
    "dem Gedächtnis antworten.",
    model_unreachable="Das Sprachmodell `{model}` ist gerade nicht erreichbar, deshalb kann ich nur aus dem Gedächtnis "
    "antworten.",
    model_failing="Das Sprachmodell `{model}` gibt gerade keine brauchbare Antwort, deshalb kann ich nur aus dem "
    "Gedächtnis antworten.",
    forgot="Vergessen: was du mir über {what} gesagt hast.",
    forgot_messages="Damit ist auch der Text von {count} Nachricht(en) weg.",
    forget_nothing="Zu {what} habe ich nichts, was ich vergessen könnte.",
    forget_unstored="Zu {what} hatte ich nichts gespeichert.",
    forget_left="{count} Nachricht(en) von dir, die davon sprechen, bleiben im Verlauf des Gesprächs; "
    "solange ich ohne Sprachmodell arbeite, antworte ich hier nicht daraus.",
    forget_others="Was ich dazu habe, hat mir {speaker} gesagt; das lasse ich stehen.",
    forget_all="Ich vergesse immer nur eines auf einmal, damit nichts aus Versehen verloren geht: sag „vergiss "
    "…“ und was. "
    "„Was weißt du über mich?“ zeigt alles.",
    forget_what="Was soll ich vergessen? Zum Beispiel „vergiss meinen Zahnarzt“.",
    remember_what="Was soll ich mir merken? Zum Beispiel „merk dir, dass mein Zahnarzt in der Elmstraße ist“.",
    known="Das hast du mir gesagt, das Neueste zuerst:",
    known_none="Ich habe noch nichts über dich gespeichert. Sag „merk dir, dass …“, und ich behalte es.",
    known_others="(Dazu {count} von anderen Leuten hier.)",
    known_more="({count} weitere von dir stehen hier nicht; frag mich danach.)",
    known_older="({count} ältere Einträge, von dir oder anderen, habe ich nicht durchgesehen.)",
    talked="Das wurde gesagt ({span}):",
    talked_none="Soweit ich es von hier aus sehe, wurde da nichts gesagt ({span}).",
    myself="Ich",
    greeting="Hallo! Schön, dass du da bist.",
    thanks="Gern geschehen!",
    wellbeing="Mir geht es gut, danke. Und dir?",
    night="Gute Nacht und bis bald.",
    ack="Alles klar.",
    called="Ich bin da. Was kann ich für dich tun?",
    picture="Bilder und Dateien kann ich mir nicht ansehen.",
    statement="Das habe ich gelesen, aber nicht gespeichert; sag „merk dir, dass …“, wenn ich es behalten soll.",
    cannot="Das kann ich ohne Sprachmodell nicht.",
    who="Ich bin {name}, ein Bot und kein Mensch. Gerade antworten dir feste Regeln und das, was man mir gesagt "
    "hat: kein Sprachmodell.",
    help="Das kann ich ohne Sprachmodell:\n"
    "- **Merken**: „merk dir, dass mein Zahnarzt in der Elmstraße ist“\n"
    "- **Aus dem Gedächtnis antworten**: „wo ist mein Zahnarzt?“\n"
    "- **Vergessen**: „vergiss meinen Zahnarzt“\n"
    "- **Auflisten**: „was weißt du über mich?“\n"
    "- **Zurückblicken**: „worüber haben wir gestern gesprochen?“\n"
    "- **Erinnern**: „erinnere mich morgen um 9 an den Zahnarzt“, „was sind meine Erinnerungen?“\n"
    "- **Aufgaben**: „neue Aufgabe: Küche putzen“, „was sind meine Aufgaben?“, „fertig mit Küche putzen“\n"
    "- **Termine**: „neuer Termin: Essen am Freitag um 19 Uhr“, „was steht in meinem Kalender?“\n"
    "Dasselbe auf Englisch und Japanisch.",
    missing_tool="Das kann ich hier nicht: das Werkzeug `{tool}` steht mir nicht zur Verfügung.",
    failed="Das hat nicht geklappt: {text}",
    waits="Das braucht erst eine Zustimmung. Ich habe darum gebeten und sage Bescheid.",
    allowed="Es wurde erlaubt, und ich habe es getan.",
    refused="Es wurde nicht erlaubt, also habe ich es nicht getan.",
    no_result="das Werkzeug gab kein Ergebnis, das ich lesen kann.",
    too_long="Das ist mir zum Merken zu lang ({length} Zeichen; höchstens {limit}).",
)

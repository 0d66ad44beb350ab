"""What the offline model says in English."""

from bot.models.offline.language import Phrases

ENGLISH_PHRASES = Phrases(
    saved="I'll remember: {fact}.",
    saved_list="I'll remember:",
    already="I already knew that: {fact}{source}.",
    told="You told me {fact}{source}.",
    told_colon="You told me: {fact}{source}.",
    told_list="This is what you told me:",
    nearest="I don't know exactly that. The nearest I remember:",
    earlier="Before that it was: {fact}{source}.",
    other_told="I don't have that from you, but {speaker} told me: {fact}{source}.",
    noted="My notes say: {fact}{source}.",
    source=" ({})",
    source_time="on {date} at {time} UTC",
    source_place="in {place}",
    at_terminal="in the terminal",
    in_direct="in {place}",
    quote="“{}”",
    join=", ",
    unknown="I don't know that. I found nothing about it in my memory{looked}.",
    looked=" (searched: entries {entries}, messages {messages})",
    no_model="No language model is configured, so I can only answer from memory; the setting {setting} names one (for "
    "example `openai:gpt-5-mini`).",
    model_key="My key for the language model `{model}` is refused, so I can only answer from memory; the setting "
    "{setting} holds it.",
    model_missing="The language model `{model}` is not known to its provider, so I can only answer from memory; the "
    "setting {setting} names it.",
    model_quota="What I may use of the language model `{model}` is used up, so I can only answer from memory.",
    model_budget="What may be spent on a language model is spent for now, so I can only answer from memory.",
    model_unreachable="The language model `{model}` can't be reached at the moment, so I can only answer from memory.",
    model_failing="The language model `{model}` gives no usable answer at the moment, so I can only answer from "
    "memory.",
    forgot="Forgotten: what you told me about {what}.",
    forgot_messages="The text of {count} message(s) went with it.",
    forget_nothing="I have nothing about {what} to forget.",
    forget_unstored="I had stored nothing about {what}.",
    forget_left="{count} message(s) of yours that speak of it stay in the record of the conversation; as long as I "
    "work without a language model, I don't answer from them here.",
    forget_others="What I have about that was told by {speaker}, so I leave it alone.",
    forget_all="I forget one thing at a time, so that nothing goes by mistake: say “forget …” with what it is. "
    "“What do "
    "you know about me?” lists it all.",
    forget_what="What should I forget? Say for example “forget my dentist”.",
    remember_what="What should I remember? Say for example “remember that my dentist is on Elm Street”.",
    known="This is what you told me, newest first:",
    known_none="I have nothing stored about you yet. Say “remember that …” and I will keep it.",
    known_others="({count} more here from other people.)",
    known_more="({count} more of yours are not shown here; ask me about them.)",
    known_older="({count} older entries, of you or others, were not looked through.)",
    talked="Here is what was said ({span}):",
    talked_none="Nothing was said then ({span}), as far as I can see from here.",
    myself="I",
    greeting="Hello! Good to see you.",
    thanks="You're welcome!",
    wellbeing="I'm well, thank you. How are you?",
    night="Good night, and see you soon.",
    ack="All right.",
    called="I'm here. What can I do for you?",
    picture="I can't look at pictures or files.",
    statement="I read that, but I did not store it; say “remember that …” if I should keep it.",
    cannot="I can't do that without a language model.",
    who="I'm {name}, a bot and no person. What answers you now are fixed rules and what I was told: no language model.",
    help="What I can do without a language model:\n"
    "- **Remember**: “remember that my dentist is on Elm Street”\n"
    "- **Answer from memory**: “where is my dentist?”\n"
    "- **Forget**: “forget my dentist”\n"
    "- **List**: “what do you know about me?”\n"
    "- **Look back**: “what did we talk about yesterday?”\n"
    "- **Remind**: “remind me in 20 minutes to call mum”, “what are my reminders?”\n"
    "- **Tasks**: “new task: clean the kitchen”, “what are my tasks?”, “done with the kitchen”\n"
    "- **Events**: “add an event: dinner on friday at 19:00”, “what's in my calendar?”, “cancel the dinner”\n"
    "The same in German and Japanese.",
    missing_tool="I can't do that here: the tool `{tool}` is not available to me.",
    failed="That did not work: {text}",
    waits="That needs a yes first. I have asked for it and will tell you.",
    allowed="It was allowed, and I have done it.",
    refused="It was not allowed, so I did not do it.",
    no_result="the tool gave no result I can read.",
    too_long="That is too long for me to remember ({length} characters; at most {limit}).",
)

"""Short queries that share no word with what they are to find: 60 of them, over a small store and a large one.

Half of the statements are an agent's entries, half were said. Around them stands chatter, made here of sentences that
state none of it. Twenty more queries ask for what nobody said: for those nothing should be taken for an answer.
"""

import asyncio
import itertools
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial

from memory.agents import Agent, seed_agent
from memory.knowledge import entry_changes
from memory.knowledge.entries import NewEntry, Origin
from memory.people.audience import PUBLIC, Scope, Trust
from memory.search.all_domains import search
from memory.search.embedding.choice import missing
from memory.search.query import Hit, Query
from memory.search.similarity import Meaning
from memory.store.database import Rows, Tx
from tests.benchmarks.embedded import filled, meanings_of, packaged
from tests.benchmarks.locomo import hear
from tests.benchmarks.methods import AGENT
from tests.benchmarks.options import Options
from tests.benchmarks.report import Detail, Report, percentile

TITLE = "Short queries by meaning"
_BEGIN = datetime(2026, 9, 1, 9, tzinfo=UTC)
_SMALL, _LARGE = 40, 4_000  # sentences of chatter
_FIRST = 3  # hits among which the statement should be


def _listed(words: str) -> list[str]:
    return [" ".join(part.split()) for part in words.split(",")]


ASKED: Mapping[str, str] = {
    "pets": "Mia has two cats, Minka and Tom.",
    "hot beverage": "Olga drinks Darjeeling every morning at seven.",
    "food allergies": "Jonas breaks out in a rash when he eats kiwi.",
    "vehicle repair": "The car stands at Meyer's garage until Thursday.",
    "siblings": "Priya's brother Arun studies in Delft.",
    "musical instrument": "Lena has played the cello since she was nine.",
    "favourite dessert": "Tomas could live on tiramisu alone.",
    "employment": "Ingrid became a nurse at the children's hospital.",
    "sports injury": "Marek tore a ligament in his knee while skiing.",
    "wedding date": "Ruth and Paul get married on 14 May.",
    "apartment lease": "Nadia signed for a two-room flat in Harbour Road.",
    "home address": "Felix lives at 12 Lime Tree Avenue, third floor.",
    "fear": "Kasimir cannot stand spiders.",
    "languages spoken": "Yuki grew up with Japanese and learned Portuguese.",
    "vacation destination": "They fly to Lisbon in August for ten days.",
    "physician": "Dr. Albrecht sees Hanna every six months.",
    "medication": "Otto takes two tablets of ibuprofen after dinner.",
    "university degree": "Samira finished her master's in geology.",
    "newborn": "Clara gave birth to a girl called Edda on Sunday.",
    "salary": "Ben earns 3,200 euros a month at the bakery.",
    "reading material": "Greta is halfway through Middlemarch.",
    "film taste": "Viktor watches every western that he can find.",
    "insomnia": "Aylin lies awake until three most nights.",
    "diet": "Niko has eaten no meat since January.",
    "gardening": "Elsa planted tomatoes and basil on her balcony.",
    "court case": "The judge hears Anton's dispute with his landlord in March.",
    "passport": "Leila's travel document runs out in June.",
    "wifi password": "To get online at the cabin type bluefinch42.",
    "eyesight": "Boris needs new glasses, he squints at the board.",
    "exercise routine": "Sven runs ten kilometres before work.",
    "cooking skills": "Amara makes the best lasagne of the whole street.",
    "computer trouble": "Rita's laptop shuts down whenever she opens the lid.",
    "emergency contact": "If anything happens, call Aunt Berta on 555 0199.",
    "hairstyle": "Juna dyed her curls green last week.",
    "bereavement": "Emil's grandfather died in the spring.",
    "faith": "Sister Agnes goes to mass each Sunday.",
    "clothing size": "Hugo wears a 43 in shoes and an L in shirts.",
    "savings": "Dora puts two hundred aside every month for a house.",
    "astronomy": "Pavel looks at Saturn's rings through his telescope.",
    "public transport": "Zoe catches the 7:40 tram to the office.",
    "burglary": "Somebody broke the kitchen window and stole Ida's silver.",
    "alcohol": "Karl gave up wine and beer after the new year.",
    "board games": "On Fridays we play Catan at Simon's place.",
    "photography": "Mirjam shoots portraits on old black-and-white film.",
    "electricity bill": "Wanda pays 96 euros for power each quarter.",
    "school grades": "Finn got an A in maths and failed Latin.",
    "nationality": "Mateo was born in Chile and holds its papers.",
    "relationship": "Britta has been going out with Ole for a year.",
    "heating": "The boiler in Gesa's cellar is broken again.",
    "volunteering": "Arne hands out soup to the homeless on Tuesdays.",
    "painting": "Thea sells watercolours of the coast at the market.",
    "conference talk": "Ravi presents his results in Vienna next month.",
    "superstition": "Maud never walks under a ladder.",
    "tooth": "Lars had a crown put on a molar yesterday.",
    "birthday present": "Noor would love a kite for turning eight.",
    "bicycle": "Ulf rides his old Peugeot racer to the lake.",
    "phone number": "Selma can be reached on 0151 2345678.",
    "retirement": "Grandpa Willi stops working at the mill in autumn.",
    "coffee preference": "Tilda takes her espresso black, without sugar.",
    "bad habit": "Enno bites his nails whenever he is nervous.",
}
"""Query -> the statement that answers it."""

UNKNOWN = _listed(
    """volcanoes, submarine, parliament, opera, beekeeping, archery, satellites, dinosaurs, inflation, glaciers,
tattoo, chess, pottery, sailing, karate, origami, mushrooms, lottery, blacksmith, rugby"""
)
"""What no sentence is about."""

_WHO = ["Ann", "Bob", "Cleo", "Dan", "Eve", "Finn", "Gus", "Hal"]
_OPENINGS = ("", "Well, ", "Honestly, ", "By the way, ", "Hm, ", "So, ", "Okay, ", "Haha, ")
_CHATTER = (
    "did anybody see the {thing} in the hall?",
    "the {thing} was late again today.",
    "I will bring the {thing} tomorrow.",
    "who left the {thing} on the table?",
    "let us talk about the {thing} on {day}.",
    "no idea what to do with the {thing}.",
    "the meeting about the {thing} is moved to {day}.",
    "can somebody look at the {thing} before {day}?",
    "I liked the {thing}, it was rather good.",
    "the {thing} costs more than I thought.",
    "please send me the {thing} when you have a minute.",
    "we ran out of time for the {thing}.",
    "see you on {day}, then we fix the {thing}.",
    "it rained so hard that the {thing} got wet.",
    "thanks for the {thing}, that helped a lot.",
    "my neighbour asked about the {thing} this morning.",
    "I am too tired for the {thing} today.",
    "what a long day, and still no {thing}.",
)
_THINGS = _listed(
    """parcel, report, printer, umbrella, agenda, invoice, poster, projector, key, spreadsheet, newsletter, ladder,
lamp, carpet, schedule, draft, survey, contract, calendar, whiteboard, chair, bench, fence, flyer, folder,
ticket, backup, server, website, logo, video, podcast, playlist, festival, parade, picnic, quiz, raffle, broom,
bucket, battery, charger, cable, headset, stapler, envelope, stamp, postcard, magazine, crossword, map, compass,
tent, rucksack, torch, rope, blanket, cushion, curtain, mirror, clock, shelf, drawer, cupboard, elevator,
staircase, gate, bridge, fountain, statue, museum, library, fair, market, bus stop, car park, crossing,
roundabout, forecast, snow, fog, storm, sunset, new timetable, old sofa, broken window, second draft"""
)
_DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]


def chatter(count: int) -> list[str]:
    """So many different sentences, the same each time."""
    drawn = random.Random(7)
    every = list(itertools.product(_OPENINGS, _CHATTER, _THINGS))
    said = [opening + frame.format(thing=thing, day=drawn.choice(_DAYS)) for opening, frame, thing in every]
    drawn.shuffle(said)
    return [sentence[0].upper() + sentence[1:] for sentence in said[:count]]


def _fill(tx: Tx, size: int) -> None:
    """The statements evenly among the chatter: every other one as an entry, and one in ten sentences of the rest."""
    seed_agent(tx, Agent(AGENT, "Bench", "", "", "", ()), _BEGIN)
    drawn, noise, statements = random.Random(3), chatter(size), list(ASKED.values())
    said = [(sentence, number % 10 == 0) for number, sentence in enumerate(noise)]
    for number, sentence in enumerate(statements):
        said.insert(drawn.randrange(len(said) + 1), (sentence, number % 2 == 0))
    for number, (sentence, kept) in enumerate(said):
        at = _BEGIN + timedelta(minutes=7 * number)
        if kept:
            entry_changes.insert(tx, AGENT, NewEntry(sentence, Origin(Scope(PUBLIC), Trust.APPROVED, None)), at)
            continue
        hear(tx, drawn.choice(_WHO), sentence, str(number), at)


@dataclass
class _Store:
    """What was found in one store: by query, the hits; and how long each search took, in milliseconds."""

    hits: dict[str, list[Hit]] = field(default_factory=dict)
    times: list[float] = field(default_factory=list)

    def rank(self, query: str) -> int:
        """Of the statement among the hits, from 1; 0 when it is not among them."""
        return next((rank for rank, hit in enumerate(self.hits[query], 1) if ASKED[query] in hit.text), 0)

    def firm(self, query: str) -> bool:
        """Whether the statement is a hit, and no guess."""
        rank = self.rank(query)
        return bool(rank) and not self.hits[query][rank - 1].perhaps


def _ask(rows: Rows, store: _Store, meanings: Mapping[str, Meaning]) -> None:
    for text, meaning in meanings.items():
        begin = time.perf_counter()
        found = search(rows, Query(text=text, agent=AGENT, meaning=meaning, guesses=True), Scope(PUBLIC))
        store.times.append(1000 * (time.perf_counter() - begin))
        store.hits[text] = found.hits


async def _measured(sizes: Sequence[int]) -> list[_Store]:
    """What was found in a store of each size; nothing without an embedder."""
    stores = list[_Store]()
    async with packaged() as embedder:
        if embedder is not None:
            meanings = await meanings_of(embedder, (*ASKED, *UNKNOWN))
            for size in sizes:
                stores.append(store := _Store())
                async with filled(partial(_fill, size=size), embedder) as database:
                    await database.read(partial(_ask, store=store, meanings=meanings))
    return stores


def run(options: Options) -> Report:
    sizes = (_SMALL, options.scaled(_LARGE))
    stores = asyncio.run(_measured(sizes))
    if not stores:
        return Report(TITLE, notes=[f"not measured: {missing()} is not installed"])
    heads = ("store", "first", f"first {_FIRST}", "shown", "no guess", "unknown: none", "a guess", "a hit", "p50 ms")
    names = [f"{len(ASKED)} statements, {size:,} sentences of chatter" for size in sizes]
    rows = tuple(_summed(name, store) for name, store in zip(names, stores, strict=True))
    about = f"Of {len(ASKED)} queries that a statement answers, and of {len(UNKNOWN)} that none does"
    return Report(TITLE, details=[Detail(about, heads, rows)])


def _summed(name: str, store: _Store) -> tuple[str | float, ...]:
    ranks = [store.rank(query) for query in ASKED]
    firm = sum(store.firm(query) for query in ASKED)
    unknown = [store.hits[query] for query in UNKNOWN]
    sure = sum(any(not hit.perhaps for hit in hits) for hits in unknown)
    none = sum(not hits for hits in unknown)
    first, few = sum(rank == 1 for rank in ranks), sum(0 < rank <= _FIRST for rank in ranks)
    counts = (first, few, sum(map(bool, ranks)), firm, none, len(unknown) - none - sure, sure)
    return (name, *map(str, counts), percentile(store.times, 0.5))

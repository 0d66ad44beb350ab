"""The order of German words, Japanese without a subject, and several languages in one memory."""

import pytest

from bot.models.offline.german.order import mend, order, turn
from bot.models.offline.text import detect
from tests.bot.models.offline_talk import Talk

# -------------------------------------------------------------------------------------------------------- German


@pytest.mark.parametrize(
    ("told", "answer"),
    [
        ("ich bin gegen Nüsse allergisch", "du bist gegen Nüsse allergisch"),
        (
            "ich bin leider auch gegen rohe Nüsse sehr allergisch",
            "du bist leider auch gegen rohe Nüsse sehr allergisch",
        ),
        ("gegen Nüsse bin ich allergisch", "gegen Nüsse bist du allergisch"),
        ("allergisch bin ich gegen Nüsse", "allergisch bist du gegen Nüsse"),
        ("merk dir, dass ich gegen Nüsse allergisch bin", "du bist gegen Nüsse allergisch"),
        ("Nussallergie habe ich", "Nussallergie hast du"),
        ("ich hab ne Nussallergie", "du hast ne Nussallergie"),
        ("Milch vertrage ich nicht", "Milch verträgst du nicht"),
        ("ich vertrag keine Milch", "du verträgst keine Milch"),
        ("Fleisch darf ich nicht essen", "Fleisch darfst du nicht essen"),
    ],
)
def test_what_is_not_eaten_is_stored_in_any_order_and_found(told: str, answer: str) -> None:
    talk = Talk()
    assert talk.say(told) == f"Ich merke mir: {answer}."
    assert len(talk.stored) == 1
    assert f"Du hast mir gesagt: {answer} (" in talk.say("was darf ich nicht essen?")


@pytest.mark.parametrize(
    ("told", "question", "answer"),
    [
        ("in Graz wohne ich", "wo wohne ich?", "in Graz wohnst du"),
        ("Seit 2019 wohne ich in Graz", "wo wohne ich?", "Seit 2019 wohnst du in Graz"),
        ("geboren bin ich in Linz", "wo bin ich geboren?", "geboren bist du in Linz"),
        ("am liebsten esse ich Pizza", "was esse ich am liebsten?", "am liebsten isst du Pizza"),
        ("In Graz wohnt meine Schwester", "wo wohnt meine Schwester?", "In Graz wohnt deine Schwester"),
        (
            "Am Freitag um 9 ist mein Zahnarzttermin",
            "wann ist mein Zahnarzttermin?",
            "Am Freitag um 9 ist dein Zahnarzttermin",
        ),
        ("ich hab am 12. Juni Geburtstag", "wann hab ich Geburtstag?", "du hast am 12. Juni Geburtstag"),
        ("vergiss nicht, dass ich montags Yoga mache", "was mache ich montags?", "du machst montags Yoga"),
        ("merk dir, dass ich um 7 aufstehe", "wann stehe ich auf?", "du stehst um 7 auf"),
        ("Ich heiße Ben, wohne in Linz und bin Koch", "wo wohne ich?", "du heißt Ben, wohnst in Linz und bist Koch"),
        ("Ich bin Ben und ich wohne in Linz", "wie heiße ich?", "du bist Ben ("),
    ],
)
def test_german_statements_in_any_order_are_stored_and_found(told: str, question: str, answer: str) -> None:
    talk = Talk()
    talk.say(told)
    assert len(talk.stored) == 1
    assert f"Du hast mir gesagt: {answer}" in talk.say(question)


@pytest.mark.parametrize(
    ("sentence", "ordered"),
    [
        ("gegen Nüsse bin ich allergisch", "ich bin gegen Nüsse allergisch"),
        ("Oliven schmecken mir nicht", "mir schmecken Oliven nicht"),
        ("Mein Bruder hat mein Auto", "Mein Bruder hat mein Auto"),
        ("meine Schwester und ich wohnen in Graz", "meine Schwester und ich wohnen in Graz"),
        ("wo wohne ich", "wo wohne ich"),
        ("wenn es regnet, bleibe ich zu Hause", "wenn es regnet, bleibe ich zu Hause"),
    ],
)
def test_a_subject_behind_its_verb_is_put_first_for_looking(sentence: str, ordered: str) -> None:
    assert order(sentence) == ordered


@pytest.mark.parametrize(
    ("clause", "sentence"),
    [
        ("dass mein Zug um 8:15 abfährt", "mein Zug fährt um 8:15 ab"),
        ("dass ich nicht rauche", "ich rauche nicht"),
        ("dass ich in Rom gewohnt habe", "ich habe in Rom gewohnt"),
        ("dass mein Bruder Tom", "dass mein Bruder Tom"),
        (
            "dass mein Schlüssel hier ist und dass mein Rad dort ist",
            "dass mein Schlüssel hier ist und dass mein Rad dort ist",
        ),
    ],
)
def test_a_clause_becomes_a_sentence_where_its_verb_is_known(clause: str, sentence: str) -> None:
    assert mend(clause) == sentence


@pytest.mark.parametrize(
    ("own", "theirs"),
    [
        ("ich bin Koch und ich wohne in Linz", "du bist Koch und du wohnst in Linz"),
        ("abends esse ich Suppe", "abends isst du Suppe"),
        ("ich mag große Hunde und alte Katzen", "du magst große Hunde und alte Katzen"),
    ],
)
def test_every_verb_of_the_speaker_is_turned(own: str, theirs: str) -> None:
    assert turn(own) == theirs


# ------------------------------------------------------------------------------------------------------ Japanese


@pytest.mark.parametrize(
    ("told", "question"),
    [
        ("エビが食べられません", "何を食べてはいけない？"),
        ("エビは食べられないんです", "何を食べてはいけない？"),
        ("ナッツアレルギーなんです", "何を食べてはいけませんか"),
        ("誕生日は5月3日だよ", "誕生日いつだっけ"),
        ("娘は7歳です", "娘は何歳ですか"),
        ("好きな食べ物はラーメンです", "好きな食べ物は何？"),
        ("紅茶は苦手", "紅茶は好き？"),
        ("もう東京には住んでいません", "どこに住んでいる？"),
        ("母は東京に住んでいて、父は大阪に住んでいます", "父はどこに住んでいる？"),
        ("車を3階に停めたと覚えておいて", "どこに車を停めた？"),
        ("妹がいます", "兄弟はいますか"),
    ],
)
def test_japanese_without_a_subject_is_the_speakers_own(told: str, question: str) -> None:
    talk = Talk()
    assert talk.say(told).endswith("と覚えました。")
    assert len(talk.stored) == 1
    said = talk.say(question)
    assert said.startswith(talk.stored[0])
    assert "と教えてくれました" in said


def test_what_is_said_of_others_in_japanese_is_kept_only_when_asked() -> None:
    talk = Talk()
    assert "保存はしていません" in talk.say("トムはグラーツに住んでいます")
    assert talk.stored == []
    talk.say("トムはグラーツに住んでいると覚えて")
    assert talk.stored == ["トムはグラーツに住んでいる"]


# ---------------------------------------------------------------------------------------------- several languages


@pytest.mark.parametrize(
    ("question", "own"),
    [
        ("what should I not eat?", "- you're allergic to peanuts ("),
        ("was darf ich nicht essen?", "- du bist gegen Nüsse allergisch ("),
        ("何を食べてはいけない？", "- 卵アレルギーです"),
    ],
)
def test_what_was_told_in_several_languages_is_listed_together(question: str, own: str) -> None:
    talk = Talk()
    told = ["I'm allergic to peanuts", "ich bin gegen Nüsse allergisch", "卵アレルギーです"]
    for text in told:
        talk.say(text)
        talk.later(hours=1)
    for number in range(60):
        talk.say(f"remember that box {number} has books")
        talk.later(minutes=1)
    said = talk.say(question)
    assert own in said
    assert len([line for line in said.splitlines() if line.startswith("- ")]) == 3
    assert all(text in said or own in said for text in told)
    assert sum(f"{mark}{text}" in said for mark in "“„「" for text in told) == 2, "other languages are quoted"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Tom wohnt in Graz", "de"),
        ("mein Flug geht am Freitag um 9:40", "de"),
        ("am liebsten esse ich Pizza", "de"),
        ("Tom lives in Graz", "en"),
        ("im allergic to nuts", "en"),
        ("トムさん、hello", "ja"),
        ("42", "en"),
    ],
)
def test_a_short_sentence_tells_its_language(text: str, code: str) -> None:
    assert detect(text).code == code


def test_a_name_told_in_japanese_is_not_taken_for_one_of_the_past() -> None:
    talk = Talk()
    talk.say("My name is Carl")
    talk.say("私の名前は田中です")
    assert "田中" in talk.say("私の名前は？")

"""Questions in other words than what was told: attributes, other people, denials and changes; and what is not known
stays unknown."""

import pytest

from tests.bot.models.offline_talk import NEAREST, UNKNOWN, Talk, asked

# ---------------------------------------------------------------------------------------------------- attributes


@pytest.mark.parametrize(
    ("told", "question", "answer"),
    [
        ("my car is blue", "what colour is my car?", "your car is blue"),
        ("my car is blue", "What color does my car have?", "your car is blue"),
        ("my favorite colour is green", "which color do I like best?", "your favorite colour is green"),
        ("mein Auto ist blau", "welche Farbe hat mein Auto?", "dein Auto ist blau"),
        ("meine Lieblingsfarbe ist grün", "welche Farbe mag ich am liebsten?", "deine Lieblingsfarbe ist grün"),
        ("私の車は青いです", "私の車は何色ですか？", "あなたの車は青いです"),
        ("I work at the post office", "where do I work?", "you work at the post office"),
        ("I work at the post office", "who do I work for?", "you work at the post office"),
        ("ich arbeite bei der Post", "für wen arbeite ich?", "du arbeitest bei der Post"),
        ("私は郵便局で働いています", "勤め先はどこ？", "あなたは郵便局で働いています"),
        ("my daughter is 7", "how old is my daughter?", "your daughter is 7"),
        ("I'm 34", "what's my age?", "you're 34"),
        ("my sister is called Mia, she is 12 and she sings", "how old is Mia?", "she is 12"),
        ("I was born on 3 May 1990", "when is my birthday?", "you were born on 3 May 1990"),
        ("meine Tochter ist 7", "wie alt ist meine Tochter?", "deine Tochter ist 7"),
        ("娘は7歳です", "娘は何歳？", "娘は7歳です"),
        ("I have two cats", "how many cats do I have?", "you have two cats"),
        ("猫を2匹飼っています", "猫は何匹いる？", "猫を2匹飼っています"),
        ("my rent is 900 euros", "what does my rent cost?", "your rent is 900 euros"),
        ("my flight leaves at 9:40 on Friday", "what time is my flight?", "your flight leaves at 9:40 on Friday"),
        ("mein Flug geht am Freitag um 9:40", "wann ist mein Flug?", "dein Flug geht am Freitag um 9:40"),
        ("my dentist's name is Dr. Brown", "who is my dentist?", "your dentist's name is Dr. Brown"),
        ("remember Tom works at the bank", "what does Tom do?", "Tom works at the bank"),
        ("my son goes to Elm School", "which school does my son go to?", "your son goes to Elm School"),
        ("remember that I met Ann in 2019", "when did I meet Ann?", "you met Ann in 2019"),
        ("remember my e-mail is a@example.com", "what's my email?", "your e-mail is a@example.com"),
        ("merk dir: WLAN-Passwort ist Banane42", "WLAN Passwort?", "WLAN-Passwort ist Banane42"),
        ("ich bin gegen Nuesse allergisch", "bin ich gegen Nüsse allergisch?", "du bist gegen Nuesse allergisch"),
        ("remember box 12 has shoes", "what is in box 12?", "box 12 has shoes"),
        ("remember the party is on 12 June", "what is on June 12?", "the party is on 12 June"),
    ],
)
def test_what_is_asked_in_other_words_is_found(told: str, question: str, answer: str) -> None:
    said = asked(told, question)
    assert answer in said
    assert not said.startswith(NEAREST)
    assert "CARINA_MODEL" not in said


@pytest.mark.parametrize(
    ("told", "question"),
    [
        ("my car is blue", "how old is my car?"),
        ("my car is blue", "is my car red?"),
        ("remember that Anna likes lilies", "does Anna like roses?"),
        ("my dog is old", "what colour is my dog?"),
        ("I love cats", "how many cats do I have?"),
        ("remember the meeting is on Monday at 10", "where is the meeting?"),
        ("remember the meeting is on Monday at 10", "what is the meeting about?"),
        ("remember that Tom lives in Graz", "what does Tom do?"),
        ("remember that Tom lives in Graz", "how is Tom?"),
        ("I live in Graz", "why do I live in Graz?"),
        ("I drive a Toyota", "what car do I drive?"),
        ("mein Auto ist blau", "wie alt ist mein Auto?"),
        ("私の車は青いです", "私の車は何歳？"),
    ],
)
def test_an_answer_of_another_sort_is_the_nearest_at_most(told: str, question: str) -> None:
    said = asked(told, question)
    assert said.startswith(NEAREST)
    assert "`CARINA_MODEL`" in said, "it is not known, so it is said why nobody knows more"


# -------------------------------------------------------------------------------------------------- other people


@pytest.mark.parametrize(
    ("told", "question", "answer"),
    [
        ("Tom lives in Graz", "where does Tom live?", "Tom lives in Graz"),
        ("Tom lives in Graz", "who lives in Graz?", "Tom lives in Graz"),
        ("Tom wohnt in Graz", "wer wohnt in Graz?", "Tom wohnt in Graz"),
        ("トムはグラーツに住んでいます", "グラーツに住んでいるのは誰？", "トムはグラーツに住んでいます"),
        ("my sister's name is Mia", "what is my sister called?", "your sister's name is Mia"),
        ("my sister's name is Mia", "who is Mia?", "your sister's name is Mia"),
        ("妹の名前はミアです", "ミアは誰？", "妹の名前はミアです"),
        ("der Name meiner Schwester ist Mia", "wie heißt meine Schwester?", "der Name deiner Schwester ist Mia"),
        ("Mein Bruder hat am 1. Juli Geburtstag", "wann ist der Geburtstag meines Bruders?", "am 1. Juli"),
        ("my brother Tom lives in Graz", "where does Tom live?", "your brother Tom lives in Graz"),
        ("my brother Tom lives in Graz", "what's my brother's name?", "your brother Tom lives in Graz"),
        ("remember my sister Mia's birthday is on 4 June", "when is my sister's birthday?", "on 4 June"),
        ("remember my sister Mia's birthday is on 4 June", "when is Mia's birthday?", "on 4 June"),
        ("remember: Mia's number is 0664 1234567", "whose number is 0664 1234567?", "Mia's number is 0664 1234567"),
        ("my mother lives in Rome", "where does my mum live?", "your mother lives in Rome"),
        ("my friend's name is Max and he lives in Rome", "where does Max live?", "he lives in Rome"),
        ("Anna is my boss", "who is my boss?", "Anna is your boss"),
    ],
)
def test_what_was_told_of_others_is_found(told: str, question: str, answer: str) -> None:
    said = asked(told, question)
    assert answer in said
    assert not said.startswith(NEAREST)


@pytest.mark.parametrize(
    ("told", "question"),
    [
        ("I live in Lisbon", "where do you live?"),
        ("I live in Lisbon", "where does she live?"),
        ("I live in Lisbon", "where does Tom live?"),
        ("Ich wohne in Graz", "wo wohnt sie?"),
        ("Ich wohne in Graz", "wo wohnst du?"),
        ("Ich wohne in Graz", "wo wohnt Tom?"),
        ("私は東京に住んでいます", "トムはどこに住んでいますか"),
        ("私は東京に住んでいます", "あなたはどこに住んでいますか"),
        ("I like pizza", "does Tom like pizza?"),
        ("ピザが好きです", "トムはピザが好き？"),
        ("I like pizza", "is pizza healthy?"),
        ("I like pizza", "what should I not eat?"),
        ("I love coffee", "what should I not drink?"),
        ("I like pizza", "what car do I like?"),
        ("my brother works at the bank", "where does my sister work?"),
        ("my brother works at the bank", "where do I work?"),
        ("remember that the capital of France is Paris", "what is the capital of Germany?"),
        ("remember box 12 has shoes", "what is in box 7?"),
        ("my wife works at the hospital", "do I have kids?"),
        ("I have a cat named Bolt", "what's my name?"),
        ("Tom's car is red", "what colour is my car?"),
        ("トムの車は赤いです", "私の車は何色？"),
        ("remember my sister Mia's birthday is on 4 June", "when is my birthday?"),
        ("I have 2 cats", "what is 2+2?"),
    ],
)
def test_what_is_not_known_is_never_answered_with_something_else(told: str, question: str) -> None:
    said = asked(told, question)
    assert said.startswith(UNKNOWN)
    assert "`CARINA_MODEL`" in said


# ------------------------------------------------------------------------------------- likes, denials and changes


@pytest.mark.parametrize(
    ("told", "question", "answer"),
    [
        ("I don't like olives", "do I like olives?", "you don't like olives"),
        ("I don't like olives", "what don't I like?", "you don't like olives"),
        ("I don't like olives", "what do I like?", ""),
        ("I like olives", "what do I hate?", ""),
        ("Oliven mag ich nicht", "was mag ich nicht?", "Oliven magst du nicht"),
        ("Oliven mag ich nicht", "was mag ich?", ""),
        ("Oliven schmecken mir nicht", "was mag ich nicht?", "Oliven schmecken dir nicht"),
        ("オリーブは好きではありません", "何が嫌い？", "オリーブは好きではありません"),
        ("オリーブは好きではありません", "何が好き？", ""),
        ("I like olives but I don't like nuts", "what do I like?", "you like olives ("),
        ("I don't eat meat", "what should I not eat?", "you don't eat meat"),
        ("Alkohol darf ich nicht trinken", "was darf ich nicht trinken?", "Alkohol darfst du nicht trinken"),
        ("肉を食べません", "何を食べられない？", "肉を食べません"),
        ("I'm not vegan", "what should I not eat?", ""),
        ("I'm not vegan", "am I vegan?", "you're not vegan"),
        ("I don't have any pets", "what pets do I have?", "you don't have any pets"),
    ],
)
def test_a_no_turns_the_meaning_over(told: str, question: str, answer: str) -> None:
    said = asked(told, question)
    assert answer in said
    assert said.startswith(UNKNOWN) == (answer == "")


@pytest.mark.parametrize(
    ("before", "after", "question", "now"),
    [
        (
            "my dentist is on Elm Street",
            "my dentist moved to Oak Street",
            "where is my dentist?",
            "your dentist moved to Oak Street",
        ),
        (
            "my dentist is on Elm Street",
            "actually, my dentist is on Oak Street",
            "where is my dentist?",
            "your dentist is on Oak Street",
        ),
        ("my phone number is 555 1234", "my phone number is 555 9999", "what's my phone number?", "is 555 9999"),
        (
            "mein Zahnarzt ist in der Elmstraße",
            "mein Zahnarzt ist in die Eichenstraße umgezogen",
            "wo ist mein Zahnarzt?",
            "dein Zahnarzt ist in die Eichenstraße umgezogen",
        ),
        (
            "歯医者はエルム通りにあると覚えて",
            "歯医者はオーク通りに引っ越しました",
            "歯医者はどこ？",
            "歯医者はオーク通りに引っ越しました",
        ),
    ],
)
def test_a_change_counts_and_what_was_before_is_named(before: str, after: str, question: str, now: str) -> None:
    first, *rest = asked((before, after), question).split("\n")
    assert now in first
    assert len(rest) == 1
    assert rest[0].startswith(("Before that it was:", "Davor war es:", "その前は"))


@pytest.mark.parametrize(
    ("said", "taken_back", "question"),
    [
        ("I'm vegan", "I'm not vegan anymore", "what should I not eat?"),
        ("ich bin Vegetarier", "ich bin kein Vegetarier mehr", "was darf ich nicht essen?"),
    ],
)
def test_what_was_taken_back_answers_no_more(said: str, taken_back: str, question: str) -> None:
    assert asked((said, taken_back), question).startswith(UNKNOWN)


def test_what_was_so_once_stands_behind_what_is_so() -> None:
    said = asked(("I live in Rome", "remember that I used to live in Paris"), "where do I live?")
    assert said.startswith("You told me you live in Rome (")
    assert "Paris" not in said


def test_two_statements_of_one_sentence_answer_each_for_itself() -> None:
    talk = Talk()
    talk.say("my cat is 3 and my dog is 5")
    assert talk.stored == ["my cat is 3 and my dog is 5"]
    assert "You told me your dog is 5 (" in talk.say("how old is my dog?")
    assert "You told me your cat is 3 (" in talk.say("how old is my cat?")


def test_two_questions_of_one_sentence_are_both_answered() -> None:
    said = asked(("my dog is called Rex", "I live in Lisbon"), "what's my dog called and where do I live?")
    assert "your dog is called Rex (" in said
    assert "you live in Lisbon (" in said

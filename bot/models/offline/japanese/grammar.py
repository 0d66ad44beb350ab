"""How Japanese is cut into words, and who it is about.

There are no spaces: words are runs of one script, and grammar is hiragana that is cut away.
"""

import re

from bot.models.offline.language import Grammar, words

ME = r"(?:私|わたし|わたくし|僕|ぼく|俺|おれ|あたし|うち)"
PETS = "犬|猫|いぬ|ねこ|イヌ|ネコ|ペット|ハムスター|うさぎ|ウサギ|鳥|金魚|馬"
OCCUPATIONS = (
    "教師 先生 医者 医師 看護師 学生 大学生 会社員 公務員 主婦 エンジニア プログラマー 開発者 デザイナー 作家 "
    "画家 音楽家 弁護士 パン屋 美容師 運転手 農家 科学者 研究者 記者 料理人 店員 翻訳者 薬剤師"
)
KIN = f"姉|妹|兄|弟|母|父|妻|夫|娘|息子|子供|友達|彼女|彼氏|上司|{PETS}"

_TURN = re.compile(ME + r"(?=[のはがをにもとへ、でっだ]|$)")
_GLUE = (
    "どこ どれ どの どう どんな なに なん だれ いつ なぜ ください おしえて おぼえて いました います いません "
    "ありました あります ありません でした でしょう です ました ます ません ましょう だった という といい といって "
    "こと もの この その あの これ それ あれ ここ そこ あそこ わたし ぼく おれ あたし あなた だっけ っけ ている "
    "ていた てる てた して する した いる いた ある あった ない なかった られ れる べき べる べて べ から まで より "
    "など だけ しか には では とは のは のが って いけ だめ たい すぎ ちゃ いい よう くれ ほしい おく おいて もう んで "
    "でい たち じゃ ではない くない きです なんです なの "
    "た て の は が を に で と も へ や か ね よ な だ さん"
)
_FEELS = r"(?:大|とても|あまり|全然|まったく|ぜんぜん)?(?:好き|嫌い|苦手|食べら|食べな|食べませ|飲め|飲まな|飲みませ)"

_OF_PEOPLE = "誕生日|名前|住所|電話|家|車|仕事|年齢|歯医者|パスワード|会社|趣味|部屋|携帯|メール"
"""What belongs to a person where a name in Katakana stands before it; ゴミの日 has no owner."""
_AT_THE_END = re.compile(r"(?:よね|よ|ね|ぞ|わ)[。．.!！\s]*$")

GRAMMAR = Grammar(
    stops=words(
        "私 僕 俺 何 誰 今日 今 事 物 時 方 人 教 覚 知 言 話 思 出 忘 聞 答 下 本当 全部 君 件 名前は オーケー "
        "どこ なに だれ いつ どれ どの どう どんな なぜ ください おしえ あなた わたし ぼく おれ して した ある いる "
        "あり です ます 実 もう です ません"
    ),
    stem=str,
    subject=re.compile(
        rf"^\s*(?:{ME}の)?(?P<subject>[^、。はが\n]{{1,40}})(?:(?<![にでと])は|が)(?P<rest>.{{1,2000}})", re.DOTALL
    ),
    about_self=re.compile(rf"^\s*{ME}[はがもに、]|^\s*[^、。はが]{{1,40}}[はが]{_FEELS}"),
    owners=re.compile(
        rf"{ME}の(?P<owner>[^、。はがのをに\s]{{1,20}})の|"
        rf"(?P<owner2>{KIN}|[^、。はがのをに\s]{{1,20}}さん|(?<![ァ-ヶー])[ァ-ヶー]{{2,15}}(?=の(?:{KIN}|{_OF_PEOPLE})))の"
    ),
    mine=re.compile(rf"{ME}の(?P<thing>[^、。はがのをに\sどでっ?？]{{1,20}})"),
    turn=lambda fact: _TURN.sub("あなた", fact),
    unturnable=re.compile(r"あなた|きみ|君[のはがをに]|お前"),
    speaker=re.compile(ME),
    others=re.compile(r"あなた|君は|彼[はのがを]|彼女[はのがを]|彼ら"),
    asks=re.compile(
        r"何|なに|どこ|誰|だれ|いつ|どれ|どの|どんな|なぜ|どうして|いくつ|いくら|どう(?:やって|ですか)|[はも][\s?？。]{0,4}$"
    ),
    openers=frozenset(),
    negated=re.compile(r"ない|ません|なかった|いけ|だめ|ダメ|避け"),
    denied=re.compile(
        r"(?:では|じゃ)(?:ない|ありません)|(?:は|が|も)(?:ない|ありません|いない|いません)|"
        r"(?:て|で)(?:は)?い?(?:ない|ません)|もう.{1,40}(?:ない|ません)"
    ),
    past=re.compile(r"以前|昔|かつて|(?<![名駅手目人])前(?:は|まで)"),
    clauses=re.compile(rf"(?<=[がどしてで])、\s*(?=(?:{ME}|{KIN}|[ァ-ヶー]{{2,15}})[^、。]{{0,15}}[はが])"),
    implied={
        "name": re.compile(rf"^\s*{ME}は[ァ-ヶー]{{2,20}}(?:です|だ)?$"),
        "age": re.compile(rf"^\s*(?:{ME}は)?\d{{1,3}}(?:歳|才)"),
    },
    spaced=False,
    variants=lambda word: tuple(word + particle for particle in "のはがを") if len(word) == 1 else (),
    glue=re.compile("|".join(sorted(_GLUE.split(), key=len, reverse=True))),
    order=lambda sentence: _AT_THE_END.sub("", sentence),
    flowing=re.compile(""),
)

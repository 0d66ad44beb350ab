"""What words bring to mind in Japanese, and what sorts of answers there are."""

from bot.models.offline.japanese.grammar import OCCUPATIONS
from bot.models.offline.language import Kind, anywhere, concept, words

_MEALS = "食 ご飯 ごはん 料理 夕飯 昼飯 朝ご飯 夕食 朝食 昼食 メニュー"
_DIET = "アレルギー 不耐症 ベジタリアン ビーガン ヴィーガン 菜食 グルテン 乳糖 ハラール 食べられな 食べられませ"

CONCEPTS = {
    "eat": concept(_MEALS, "食べ ベジタリアン ビーガン ヴィーガン 菜食"),
    "diet": concept(_MEALS, _DIET),
    "drink": concept("飲", "飲 アルコール 酒 コーヒー カフェイン お茶 ビール ワイン"),
    "abstain": concept("飲", "乳糖 飲めな 飲めませ"),
    "allergy": concept("アレルギー 不耐症", "アレルギー 不耐症"),
    "home": concept("住 住所 家は 家の 町 自宅", "住んで 住所 自宅 引っ越し"),
    "origin": concept("出身 生まれた場所", "出身 生まれ"),
    "name": concept("名前 私は誰 呼ばれ", "名前は 名前が と申します といいます と言います と呼んで"),
    "birthday": concept("誕生日 生まれ", "誕生日 生まれ"),
    "age": concept("何歳 年齢 歳", "歳 才 誕生日 生まれ"),
    "work": concept("仕事 職業 働 会社 勤 勤め先 職場", "仕事 働いて 勤めて " + OCCUPATIONS),
    "pet": concept("ペット 動物", "犬 猫 いぬ ねこ イヌ ネコ ハムスター うさぎ ウサギ 小鳥 金魚 飼って"),
    "children": concept("子供 子ども", "娘 息子 子供 子ども"),
    "siblings": concept("兄弟 姉妹 きょうだい", "姉 妹 兄 弟 姉妹 兄弟"),
    "parents": concept("両親 親", "母 父 両親"),
    "family": concept("家族", "姉 妹 兄 弟 母 父 娘 息子 妻 夫は 夫が 夫の 子供 両親 祖母 祖父 叔母 叔父"),
    "partner": concept("配偶者 結婚 パートナー", "妻 夫は 夫が 夫の 彼女 彼氏 結婚 パートナー"),
    "like": concept("好 趣味 好物", "好き 趣味 好物"),
    "dislike": concept("嫌 苦手", "嫌い 苦手"),
    "health": concept("健康 病気 持病", "糖尿病 喘息 てんかん アレルギー 片頭痛"),
    "language": concept("言語 何語", "話せ 話します"),
}

_COUNTED = "匹人個台本枚回冊つ軒頭羽"

KINDS = {
    "colour": Kind(
        anywhere(r"何色|色は|どんな色|色[をが]?教"),
        words("何色 色"),
        anywhere(r"赤|青|緑|黄|白|黒|茶色|紫|ピンク|オレンジ|灰色|グレー|金色|銀色|水色|紺|ベージュ|色"),
    ),
    "age": Kind(
        anywhere(r"何歳|何才|年齢|おいくつ"), words("何歳 何才 歳 年齢"), anywhere(r"\d{1,3}(?:歳|才)|歳|誕生日|生まれ")
    ),
    "count": Kind(
        anywhere(rf"何[{_COUNTED}]|いくつ"),
        words(" ".join(f"何{unit}" for unit in _COUNTED) + " いくつ"),
        anywhere(rf"[\d一二三四五六七八九十]+[{_COUNTED}]|いない|いません|ない$|ありません"),
    ),
    "price": Kind(anywhere(r"いくら|値段|価格|料金"), words("値段 価格 料金"), anywhere(r"\d|円|ドル|ユーロ|無料")),
    "owner": Kind(anywhere(r"誰の|だれの"), words("誰"), anywhere(r"の")),
    "reason": Kind(anywhere(r"なぜ|どうして|理由"), words("理由"), anywhere(r"から|ので|ため")),
    "place": Kind(
        anywhere(r"どこ|住所|場所"),
        words("住所 場所 どこ"),
        anywhere(
            r"に(?:は)?(?:ある|あり|いる|いま|住)|で(?:は)?働|通り|駅|[市町村区県]|住所|近く|隣|そば|の[上中下前]|階|に(?:停|止|置|入|しま)"
        ),
    ),
    "time": Kind(
        anywhere(r"いつ|何時|何日|何曜日|日付"),
        words("時 日 何時 何日 何曜日 日付"),
        anywhere(
            r"\d{1,2}[時日月]|[月火水木金土日]曜|[一二三四五六七八九十]{1,3}[時日月]|毎[日週月年]|午前|午後|"
            r"朝|夜|\d:\d\d"
        ),
    ),
    "name": Kind(
        anywhere(r"誰|だれ|名前|何という|なんという"),
        words("名前 誰"),
        anywhere(r"名前|と(?:言|い|申|呼)|です$|だ$|さん|先生"),
    ),
}

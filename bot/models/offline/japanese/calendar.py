"""Days as they are said in Japanese."""

from bot.models.offline.language import Calendar, anywhere, words

CALENDAR = Calendar(
    days=(
        (anywhere("一昨日|おととい"), "day:-2"),
        (anywhere("昨日|きのう|昨夜|ゆうべ"), "day:-1"),
        (anywhere("今日|きょう|今朝"), "day:0"),
        (anywhere("先週"), "week:-1"),
        (anywhere("今週"), "week:0"),
        (anywhere("先月"), "month:-1"),
        (anywhere("今月"), "month:0"),
    ),
    weekdays=tuple(f"{day}曜" for day in "月火水木金土日"),
    date=anywhere(r"(?P<month>\d{1,2})月(?P<day>\d{1,2})日"),
    months=tuple(f"{number}月" for number in range(1, 13)),
    written="{year}年{number}月{day}日",
    filler=words(
        "昨日 今日 一昨日 先週 今週 先月 今月 月曜日 火曜日 水曜日 木曜日 金曜日 土曜日 日曜日 月曜 火曜 "
        "水曜 木曜 金曜 土曜 "
        "日曜 話 会話 言 内容 何 さっき 先ほど きのう きょう 最近 昨夜 月 日 私達 私たち 二人"
    ),
)

"""Reminders and tasks in Japanese."""

import re

from bot.models.offline.language import AgendaWords

_ENDS = r"(?:ください|下さい|ね|よ|くれる|くれますか|お願い(?:します)?){0,3}[\s。．.!！?？]{0,8}$"

AGENDA = AgendaWords(
    remind=(
        re.compile(rf"^(?P<what>.{{0,600}}?)(?:リマインド|リマインダー)(?:を)?(?:して|セットして|設定して){_ENDS}"),
        re.compile(rf"^(?P<what>.{{0,600}}?)思い出させて{_ENDS}"),
    ),
    lead=re.compile(
        r"^[\s、,のにはを]+|(?:するように|するよう|ように|ことを|こと|のを|って|と|を|する)?[\s、,。!！]*$"
    ),
    reminders=re.compile(
        rf"^\s{{0,4}}リマインダー(?:の一覧)?(?:を)?(?:見せて|教えて|は(?:何|なに)?(?:です)?か?|一覧){_ENDS}"
    ),
    task=(
        re.compile(r"^\s{0,4}(?:新しい)?タスク[:：、\s]{1,3}(?P<what>.{1,300})$"),
        re.compile(rf"^(?P<what>.{{1,300}}?)を?タスクに(?:追加|入れ)(?:して|て){_ENDS}"),
    ),
    tasks=re.compile(
        rf"^\s{{0,4}}(?:私の|僕の)?タスク(?:の一覧)?(?:を|は)?(?:見せて|教えて|(?:何|なに)(?:が(?:ある|あります))?(?:です)?か?|一覧)?{_ENDS}"
    ),
    done=(
        re.compile(
            r"^(?P<what>.{1,300}?)(?:は|が|を)?(?:終わった|終わりました|完了|完了した|完了しました|済んだ)[\s。!！]{0,8}$"
        ),
    ),
    reminded="{when} にお知らせします：{text}。",
    remind_when="いつお知らせしましょうか？ 例：「20分後に母に電話とリマインドして」",
    remind_what="何をお知らせしましょうか？ 例：「20分後に母に電話とリマインドして」",
    listed="お知らせする予定：",
    none="ここで話せるリマインダーはありません。",
    added="書き留めました：{text}。",
    tasks_listed="未完了のタスク：",
    tasks_none="ここで話せる未完了のタスクはありません。",
    finished="完了しました：{text}。",
    not_found="{text} に当てはまるタスクやリマインダーが一つに決まりませんでした。「タスクを見せて」で一覧が出ます。",
)

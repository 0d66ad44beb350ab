"""What the offline model says in Japanese."""

from bot.models.offline.language import Phrases

JAPANESE_PHRASES = Phrases(
    saved="{fact}、と覚えました。",
    saved_list="覚えました：",
    already="{fact}、ともう覚えています{source}。",
    told="{fact}、と教えてくれました{source}。",
    told_colon="{fact}、と教えてくれました{source}。",
    told_list="こう教えてくれました：",
    nearest="それそのものは分かりません。一番近いのはこれです：",
    earlier="その前は「{fact}」でした{source}。",
    other_told="あなたからは聞いていませんが、{speaker}さんが「{fact}」と教えてくれました{source}。",
    noted="私のメモには「{fact}」とあります{source}。",
    source="（{}）",
    source_time="{date} {time} UTC",
    source_place="{place}で",
    at_terminal="ターミナルで",
    in_direct="ダイレクトメッセージで",
    quote="「{}」",
    join="、",
    unknown="分かりません。記憶を探しましたが、それについては見つかりませんでした{looked}。",
    looked="（記憶{entries}件、メッセージ{messages}件を検索）",
    no_model="言語モデルが設定されていないので、記憶からしか答えられません。設定 {setting} "
    "で指定できます（例：`openai:gpt-5-mini`）。",
    model_key="言語モデル `{model}` のキーが拒否されたので、記憶からしか答えられません（設定 {setting}）。",
    model_missing="言語モデル `{model}` は提供元に見つからないので、記憶からしか答えられません（設定 {setting}）。",
    model_quota="言語モデル `{model}` の利用枠を使い切ったので、記憶からしか答えられません。",
    model_budget="言語モデルに使える予算を今は使い切ったので、記憶からしか答えられません。",
    model_unreachable="言語モデル `{model}` に今つながらないので、記憶からしか答えられません。",
    model_failing="言語モデル `{model}` から今は使える答えが来ないので、記憶からしか答えられません。",
    forgot="忘れました：{what}について聞いたこと。",
    forgot_messages="メッセージ{count}件の本文も一緒に消えました。",
    forget_nothing="{what}について、忘れるものは何もありません。",
    forget_unstored="{what}について保存したものはありませんでした。",
    forget_left="それに触れたあなたのメッセージ{count}件は会話の記録に残りますが、言語モデルなしの間、ここでの答えには使いません。",
    forget_others="それについては{speaker}さんから聞いたことなので、そのままにします。",
    forget_all="間違って消さないように、一度に一つだけ忘れます。「〜を忘れて」と言ってください。"
    "「私について何を知っている？」で一覧が出ます。",
    forget_what="何を忘れましょうか。例：「歯医者のことを忘れて」",
    remember_what="何を覚えましょうか。例：「私の歯医者はエルム通りにあると覚えて」",
    known="あなたが教えてくれたこと（新しい順）：",
    known_none="あなたについてはまだ何も覚えていません。「〜と覚えて」と言えば覚えます。",
    known_others="（ほかの人からのものが{count}件あります。）",
    known_more="（あなたのものがあと{count}件あります。聞いてください。）",
    known_older="（それより古い{count}件は見ていません。）",
    talked="この間の会話です（{span}）：",
    talked_none="ここから見える限り、その間の会話はありません（{span}）。",
    myself="私",
    greeting="こんにちは！お会いできてうれしいです。",
    thanks="どういたしまして！",
    wellbeing="元気です、ありがとうございます。あなたは？",
    night="おやすみなさい、またね。",
    ack="はい。",
    called="はい、何でしょうか。",
    picture="画像やファイルは見られません。",
    statement="読みましたが、保存はしていません。残したいときは「〜と覚えて」と言ってください。",
    cannot="それは言語モデルがないとできません。",
    who="私は{name}、人間ではなくボットです。今お答えしているのは決まったルールと教わったことで、言語モデルではありません。",
    help="言語モデルなしでできること：\n"
    "- **覚える**：「私の歯医者はエルム通りにあると覚えて」\n"
    "- **記憶から答える**：「歯医者はどこ？」\n"
    "- **忘れる**：「歯医者のことを忘れて」\n"
    "- **一覧**：「私について何を知っている？」\n"
    "- **振り返る**：「昨日何を話した？」\n"
    "- **お知らせ**：「20分後に母に電話とリマインドして」\n"
    "- **タスク**：「タスク：台所の掃除」「タスクを見せて」「台所の掃除が終わった」\n"
    "- **予定**：「予定：金曜日の19時に夕食」「予定を見せて」「夕食の予定をキャンセルして」\n"
    "英語とドイツ語でも同じです。",
    missing_tool="ここではできません。ツール `{tool}` が使えないためです。",
    failed="うまくいきませんでした：{text}",
    waits="それには承認が必要です。お願いしてありますので、決まったらお知らせします。",
    allowed="承認されたので、実行しました。",
    refused="承認されなかったので、実行していません。",
    no_result="ツールから読み取れる結果がありませんでした。",
    too_long="長すぎて覚えられません（{length}文字、最大{limit}文字）。",
)

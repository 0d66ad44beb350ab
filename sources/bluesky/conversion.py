"""Converts received posts to notifications. Pure."""

from collections.abc import Callable, Collection, Sequence
from functools import partial

from memory.people.audience import PUBLIC, Trust
from memory.queue.notifications import Kind, Notification, Place, Speaker
from memory.queue.payloads import Attachment, Extras, Quotation
from memory.store.records import replace
from sources.base import PlaceKind
from sources.bluesky.answer_rules import OwnAccount, answers, excluded_word
from sources.bluesky.block_notes import block_notes
from sources.bluesky.identifiers import NAME, person_id, thread_place
from sources.bluesky.server_responses import Account, Post
from sources.bluesky.settings import BlueskySettings
from sources.bluesky.threads import Thread, lines
from sources.names import flatten
from sources.text import sendable


def place_of(thread: Thread, hidden: Callable[[Post], bool]) -> Place:
    """The place of a thread, which everybody can read; named after its author, unless their posts are not shown."""
    place, first = thread_place(thread.post.root.uri), thread.first
    named = first is not None and (first is thread.post or not hidden(first))
    name = f"a thread of {first.author.shown} on Bluesky" if first is not None and named else "a thread on Bluesky"
    return Place(place, PlaceKind.THREAD, PUBLIC, name=name, bindings=(place, NAME))


def speaker_of(who: Account, settings: BlueskySettings) -> Speaker:
    trust = Trust.STRANGER
    if who.did == settings.owner:
        trust = Trust.OWNER
    elif who.did in settings.filters.friends or who.did in settings.filters.dids:
        trust = Trust.APPROVED
    return Speaker(person_id(who.did), who.shown, flatten(who.handle), trust=trust, unshown=who.shy)


def hidden_from(us: OwnAccount) -> Callable[[Post], bool]:
    """Returns whose posts are not shown around another one: by their own choice, or by ours."""

    def hidden(post: Post) -> bool:
        return post.author.did != us.did and (_shut_out(post.author, us) or excluded_word(post, us.filters))

    return hidden


def _with_answers(
    thread: Thread, us: OwnAccount, hidden: Callable[[Post], bool], speaking: Collection[str]
) -> Callable[[Post], bool]:
    """The same with our answers to such posts, which may repeat them; except for the person who addresses us now."""
    gone = {each.uri for each in thread.posts if each.author.did not in speaking and hidden(each)}

    def too(post: Post) -> bool:
        return hidden(post) or (post.author.did == us.did and post.parent is not None and post.parent.uri in gone)

    return too


def _shut_out(who: Account, us: OwnAccount) -> bool:
    """Whether a person's posts are shown only when they address us themselves."""
    return who.did != us.did and (who.shy or us.shut_out(who) is not None)


def as_shown(us: OwnAccount) -> Callable[[Post], Post]:
    """Returns a post without quotes of people whose own posts are not shown, and with quotes of us marked."""

    def shown(post: Post) -> Post:
        who = post.quoted_by
        if who is not None and who.did == us.did:
            return post.quoting_you()
        return post.unquoted() if who is not None and _shut_out(who, us) else post

    return shown


def notifications(
    posts: Sequence[Post], thread: Thread, us: OwnAccount, settings: BlueskySettings, known: Collection[str] = ()
) -> list[Notification]:
    """Posts of one thread, oldest first: all are heard, and the answer is to the newest that addresses us.

    Posts are taken from the thread, since notifications lack quotes and image URLs. Posts of the thread whose ids are
    `known` are left out: they are in the conversation already.
    """
    shown = as_shown(us)
    thread = thread.changed(shown)
    hidden = _with_answers(thread, us, hidden_from(us), {each.author.did for each in posts})
    place = place_of(thread, hidden)
    by_uri = {each.uri: each for each in thread.posts}
    viewed = {each.id: each for each in thread.posts}
    posts = [viewed.get(each.id) or shown(each) for each in posts]
    around = replace(thread, parents=tuple(each for each in thread.parents if each not in posts))
    newest = next((each for each in reversed(posts) if answers(each, us)), None)
    found = []
    for each in posts:
        last, parent = each is newest, each.parent.uri if each.parent is not None else ""
        pictures = _pictures(each)
        found.append(
            Notification(
                source=NAME,
                external_id=each.id,
                kind=Kind.MESSAGE,
                place=place,
                speaker=speaker_of(each.author, settings),
                at=each.at,
                text=_text(each, us),
                answer=last,
                extras=Extras(
                    blocks=block_notes(each, by_uri.get(each.uri, each), thread, us.did, hidden),
                    background=lines(around, us.did, hidden, partial(_comes, posts, known, parent)) if last else (),
                    quoted=_quoted(each, by_uri, us, hidden),
                    attachments=pictures,
                    images=tuple(picture.url for picture in pictures),
                    mentioned={person_id(did): flatten(words) for did, words in each.mentions.items() if did != us.did},
                ),
            )
        )
    return found


def _comes(posts: Sequence[Post], known: Collection[str], parent: str, one: Post) -> bool:
    """Whether a post is shown anyway: it is heard, is in the conversation, or is quoted as the one replied to."""
    return one in posts or one.id in known or one.uri == parent


def _text(post: Post, us: OwnAccount) -> str:
    """The post's text, without a leading mention of us."""
    words, call = post.text.lstrip(), post.mentions.get(us.did, "")
    if call and words.startswith(call):
        words = words[len(call) :].lstrip(" ,:")
    return sendable("\n".join(line for line in (words, *post.extras) if line))


def _quoted(post: Post, by_uri: dict[str, Post], us: OwnAccount, hidden: Callable[[Post], bool]) -> Quotation | None:
    parent = by_uri.get(post.parent.uri) if post.parent is not None else None
    if parent is None or hidden(parent):
        return None
    return Quotation(parent.author.shown, parent.words, by_us=parent.author.did == us.did, external_id=parent.id)


def _pictures(post: Post) -> tuple[Attachment, ...]:
    """Images with a URL; their descriptions are in the text."""
    return tuple(
        Attachment(f"image {number}", image.content_type, image.size, url=image.url)
        for number, image in enumerate(post.images, 1)
        if image.url.startswith("https://")
    )

"""Reading the web: what is public is read, and nothing leads inside."""

import time
from collections.abc import Iterable
from urllib.parse import urlsplit

import pytest

from sources.feeds import read_feed
from sources.web import Page, PageText, Reader, WebRefused, WebSearch, is_public, read_text
from sources.web.public_addresses import resolve
from tests.sources.web_server import here_or_public, small_web

INSIDE = """
    127.0.0.1 127.8.8.8 10.1.2.3 172.16.0.1 192.168.1.1 169.254.169.254 100.64.0.1 0.0.0.0 198.18.0.1 192.0.0.1
    224.0.0.1 240.0.0.1 255.255.255.255 :: ::1 fe80::1%eth0 fc00::1 ff02::1 ::ffff:10.0.0.1 ::7f00:1 64:ff9b::a00:1
    64:ff9b:1::a00:1 2002:7f00:1:: fec0::1 ::ffff:0:7f00:1
"""


OUTSIDE = ["1.1.1.1", "93.184.216.34", "2606:4700::1111", "::ffff:1.1.1.1", "64:ff9b::101:101"]


@pytest.mark.parametrize("address", [*INSIDE.split(), "no address", *OUTSIDE])
def test_an_address_of_the_internet_is_public_and_none_inside(address: str) -> None:
    assert is_public(address) is (address in OUTSIDE)


async def text_of(path: str) -> PageText:
    async with small_web() as there:
        return read_text(await Reader(here_or_public).fetch(there.base + path))


async def refused(url: str, said: str, reader: Reader | None = None) -> None:
    with pytest.raises(WebRefused, match=said):
        read_text(await (reader or Reader(here_or_public)).fetch(url))


async def test_a_page_is_read_as_text_with_its_links() -> None:
    page = await text_of("/page")
    assert page.title == "The harbour"
    assert page.text == "Opening hours\nThe ferry leaves at nine.\nTickets: here"
    assert page.links == (("here", "https://example.org/tickets"),)


async def test_the_character_set_is_the_server_s() -> None:
    assert (await text_of("/odd")).text.startswith("été")


async def test_a_page_of_breaks_is_read_in_time_that_grows_with_it_alone() -> None:
    page = Page("https://example.org/", 200, "text/html", b"<p>" + b"<br>" * 20_000 + b"end" + b"<div>" * 500)
    began = time.process_time()
    assert read_text(page).text == "end"
    assert time.process_time() - began < 8, "inserting into the tree took much longer"


@pytest.mark.parametrize("unfinished", ["<a ", "</", "<!--", "<?", '<a href="', "<![CDATA["])
def test_tags_that_never_end_cost_time_that_grows_with_the_page_alone(unfinished: str) -> None:
    page = b"<p>seen</p>" + unfinished.encode() * (300_000 // len(unfinished))
    item = b"<rss version='2.0'><channel><item><title><![CDATA[" + page + b"]]></title></item></channel></rss>"
    began = time.process_time()
    assert read_text(Page("https://example.org/", 200, "text/html", page)).text.startswith("seen")
    assert [each.title[:4] for each in read_feed(item)] == ["seen"]
    assert time.process_time() - began < 8, "the rest of the page was read again for each of them"


async def test_comments_are_not_words_of_a_page() -> None:
    page = Page("https://example.org/", 200, "text/html; charset=undefined", b"<p>seen<!-- unseen --></p>")
    assert read_text(page).text == "seen"


async def test_a_long_page_is_cut_and_not_read_to_its_end() -> None:
    async with small_web() as there:
        page = await Reader(here_or_public).fetch(there.base + "/big")
    assert not page.whole
    assert len(page.body) == 1_500_000


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/nothing", "the error 404"),
        ("/image", "sent image/png"),
        ("/binary", "cannot be read as text"),
        ("/packed", "compressed"),
        ("/round", "redirected more than 5 times"),
        ("/kind", "sent something else"),
        ("/inside?to=https://example.org/" + "x" * 2_000, "is not a web URL"),
    ],
)
async def test_what_cannot_be_read_is_said(path: str, said: str) -> None:
    async with small_web() as there:
        await refused(there.base + path, said)


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "ftp://example.org/",
        "http://",
        "javascript:alert(1)",
        "http://[::1",
        "http://h:99999/",
        "x",
    ],
)
async def test_what_is_no_address_of_the_web_is_refused(url: str) -> None:
    await refused(url, "is not a web URL")


@pytest.mark.parametrize(
    "host", ["exa mple.org", "a,b.org", "example..org", "a%20b.org", "-a.org", ".org", "a" * 64, "ü ü.org"]
)
async def test_what_is_no_host_is_refused_with_what_to_do(host: str) -> None:
    with pytest.raises(WebRefused, match="Check it for spaces"):
        await Reader().require_public(f"https://{host}/feed.xml")


async def test_a_password_in_an_address_is_refused() -> None:
    await refused("http://ann:secret@example.org/", "user name or a password")


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "[::1]", "169.254.169.254", "2130706433", "0x7f.1", "[::ffff:127.0.0.1]"]
)
async def test_nothing_inside_is_read_under_any_spelling(host: str) -> None:
    async with small_web() as there:
        await refused(f"http://{host}:{urlsplit(there.base).port}/page", "not on the public web", Reader())
        assert there.asked == []


@pytest.mark.parametrize(
    "url",
    ["http://localhost:8480/", "http://127.0.0.1/feed", "http://[::1]/feed", "http://127.1/", "http://0x7f000001/x"],
)
async def test_this_computer_is_refused_before_anything_is_asked(url: str) -> None:
    with pytest.raises(WebRefused, match=r"on this machine or in a private network.*private_hosts"):
        await Reader().require_public(url)


async def test_a_name_that_leads_nowhere_yet_and_a_host_that_the_owner_named_are_taken() -> None:
    async def nowhere(_host: str, _port: int) -> Iterable[str]:
        raise OSError

    await Reader(resolving=nowhere).require_public("https://feeds.example.org/x")
    await Reader(private_hosts=["LocalHost"]).require_public("http://localhost:1/feed")


async def test_a_private_host_that_the_owner_named_is_read_and_leads_to_no_other() -> None:
    async with small_web() as there:
        reader = Reader(private_hosts=["localhost"])
        base = there.base.replace("127.0.0.1", "localhost")
        assert read_text(await reader.fetch(f"{base}/page")).title == "The harbour"
        asked = len(there.asked)
        await refused(f"{base}/inside?to={there.base}/page", "not on the public web", reader)
        await refused(f"{there.base}/page", "not on the public web", reader)
        assert len(there.asked) == asked + 1


async def test_a_redirect_does_not_lead_inside() -> None:
    async with small_web() as there:
        inside = f"http://127.0.0.2:{urlsplit(there.base).port}/page"
        await refused(f"{there.base}/inside?to={inside}", "127.0.0.2 is not on the public web")
        assert [path.split("?")[0] for path in there.asked] == ["/inside"]


async def test_what_is_no_url_is_refused_wherever_it_stands() -> None:
    async with small_web() as there:
        await refused(f"{there.base}/inside?to=http://[", "could not be read: Invalid IPv6 URL")
        assert (await Reader(here_or_public).fetch(f"{there.base}/page?q=\ud800")).status == 200


async def test_a_name_that_also_answers_with_an_address_inside_is_refused() -> None:
    async def both(_host: str, _port: int) -> Iterable[str]:
        return ["127.0.0.1", "127.0.0.2"]

    async with small_web() as there:
        url = f"http://rebinding.test:{urlsplit(there.base).port}/page"
        await refused(url, "not on the public web", Reader(here_or_public, both))


async def test_the_address_that_was_vetted_is_the_one_that_is_connected_to() -> None:
    """A name that answers differently the second time is asked once only."""
    answers = [["127.0.0.1"], ["127.0.0.2"]]

    async def changing(_host: str, _port: int) -> Iterable[str]:
        return answers.pop(0)

    async with small_web() as there:
        url = f"http://rebinding.test:{urlsplit(there.base).port}/page"
        reader = Reader(here_or_public, changing)
        assert read_text(await reader.fetch(url)).title == "The harbour"
        assert answers == [["127.0.0.2"]]
        await refused(url, "not on the public web", reader)


async def test_a_proxy_of_the_environment_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.2:9")
    monkeypatch.setenv("http_proxy", "http://127.0.0.2:9")
    assert (await text_of("/page")).title == "The harbour"


async def test_a_name_that_is_not_there_is_said() -> None:
    async def none(_host: str, _port: int) -> Iterable[str]:
        raise OSError(-2, "name or service not known")

    await refused("http://nowhere.test/", "nowhere.test could not be read: name or service", Reader(resolving=none))


async def test_the_system_resolves_names() -> None:
    assert "127.0.0.1" in list(await resolve("localhost", 80))


async def test_a_search_asks_the_server_that_is_named() -> None:
    async with small_web() as there:
        (found,) = await WebSearch(there.base).search("ferries & tides", 5)
        assert (found.url, found.title, found.excerpt) == ("https://example.org/a", "Ferries", "for ferries & tides")
        with pytest.raises(WebRefused, match="like a SearXNG server"):
            await WebSearch(f"{there.base}/nojson").search("x", 5)
        with pytest.raises(WebRefused, match="error 404"):
            await WebSearch(f"{there.base}/nothing").search("x", 5)

"""Visits by a browser: what files say, how browser and server are started, what is made of what they tell."""

import itertools
import json
import re
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from gauntlet.attack import certificates
from gauntlet.attack.servers import nginx
from gauntlet.benches import traffic_browser
from gauntlet.errors import UserError
from gauntlet.experiment import parse_experiment, sites
from gauntlet.experiment.pages import Page, PageObject
from gauntlet.external.contract import Failed
from gauntlet.traffic.browser import chromium, files, server
from gauntlet.traffic.browser.client import Load
from gauntlet.traffic.browser.devtools import Browser
from gauntlet.traffic.visits import Visits

PORT = 5001

PAGE: Page = (
    PageObject("document-0", 4000),
    PageObject("style-1", 500, 0, 1),
    PageObject("script-2", 400),
    PageObject("font-3", 3000, 1),
    PageObject("image-4", 800, 1, 2),
    PageObject("image-5", 900, 2),
    PageObject("data-6", 300, 2, 1),
    PageObject("image-7", 700),
    PageObject("script-8", 250, 2),
)


# --- files


def named(content: bytes) -> set[str]:
    """The files that a text names."""
    return {it.decode() for it in re.findall(rb"//o\d\.test:5001/([a-z]+-\d+)", content)}


def test_each_file_is_as_long_as_the_page_has_it_and_names_those_behind_it() -> None:
    found = files.contents(PAGE, PORT)
    assert {name: len(content) for name, content in found.items()} == {it.name: it.size_bytes for it in PAGE}
    for place, file in enumerate(PAGE):
        behind = {it.name for it in PAGE[1:] if it.after == place}
        assert named(found[file.name]) == behind - {file.name}, file.name


def test_what_a_style_sheet_names_is_shown_by_the_document() -> None:
    found = files.contents(PAGE, PORT)
    assert b"@font-face{font-family:c3;src:url(//o0.test:5001/font-3)}" in found["style-1"]
    assert b".c4{background:url(//o2.test:5001/image-4)}" in found["style-1"]
    assert b"font-family:c3" in found["document-0"] and b'class="c4"' in found["document-0"]
    assert b'class="c5"' not in found["document-0"], "a script asks for that one"


def test_scripts_call_the_loaders_of_the_document() -> None:
    script = files.contents(PAGE, PORT)["script-2"].decode()
    calls = re.findall(r'^([a-z])\("//o\d\.test:5001/([a-z]+)-', script, re.MULTILINE)
    assert sorted(calls) == [("d", "data"), ("i", "image"), ("s", "script")]
    document = files.contents(PAGE, PORT)["document-0"].decode()
    assert all(f"function {name}(u)" in document for name in "sid")


def test_a_file_that_is_too_short_to_name_its_files_is_refused() -> None:
    short = (PAGE[0], replace(PAGE[1], size_bytes=40), *PAGE[2:])
    with pytest.raises(ValueError, match=r"style-1 has 40 bytes and takes \d+ to name its files"):
        files.contents(short, PORT)
    assert not files.fits(short) and files.fits(PAGE)


def test_a_page_that_is_no_site_is_refused() -> None:
    with pytest.raises(ValueError, match=r"index\.htm is none of document, .*: the page is no site"):
        files.contents((PageObject("index.htm", 1000),), PORT)


def test_a_page_is_read_as_the_plan_has_it() -> None:
    assert files.page(json.dumps([it.planned() for it in PAGE])) == PAGE


def test_sites_of_the_bench_are_long_enough_in_every_session() -> None:
    chosen = [traffic_browser.sites_of(repetition, 5) for repetition in range(1, 5)]
    assert len({site for it in chosen for site in it}) == 20
    for site, session, place in itertools.product(chosen[0], range(30), range(2)):
        assert files.fits(sites.visit(site, session, place)), (site, session, place)


# --- Chromium


def test_chromium_goes_to_one_address_whatever_the_origin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chromium, "program", lambda: Path("/usr/bin/chromium"))
    monkeypatch.setattr(chromium, "key_hash", lambda _: "HASH")
    for http in ("2", "3"):
        words = chromium.command(
            tmp_path, http=http, origins=[1, 0, 1], address="10.0.0.9", port=PORT, authority=""
        )
        assert "--host-resolver-rules=MAP *.test 10.0.0.9, MAP * ~NOTFOUND" in words
        assert "--ignore-certificate-errors-spki-list=HASH" in words
        forced = "--origin-to-force-quic-on=o0.test:5001,o1.test:5001"
        assert (forced in words) == (http == "3")
        assert ("--disable-quic" in words) == (http == "2")


def test_a_key_is_known_by_its_hash(tmp_path: Path) -> None:
    """Held against OpenSSL, of a certificate that it makes itself."""
    file, key = tmp_path / "ca.pem", tmp_path / "ca.key"
    make = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    try:
        subprocess.run(
            [*make, "-subj", "/CN=test", "-keyout", key, "-out", file], check=True, capture_output=True
        )
    except FileNotFoundError:
        pytest.skip("openssl is not installed")
    public = subprocess.run(
        ["openssl", "x509", "-in", file, "-noout", "-pubkey"], check=True, capture_output=True
    ).stdout
    der = subprocess.run(
        ["openssl", "pkey", "-pubin", "-outform", "der"], input=public, check=True, capture_output=True
    ).stdout
    digest = subprocess.run(
        ["openssl", "dgst", "-sha256", "-binary"], input=der, check=True, capture_output=True
    ).stdout
    encoded = subprocess.run(
        ["openssl", "base64", "-A"], input=digest, check=True, capture_output=True
    ).stdout
    assert chromium.key_hash(file.read_text()) == encoded.decode()


def test_a_chromium_that_is_not_there_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(chromium.VARIABLE, "/nowhere/chromium")
    with pytest.raises(UserError, match="Chromium is not installed"):
        chromium.program()


# --- nginx


@pytest.mark.parametrize("http", ["2", "3"])
def test_nginx_takes_its_configuration(http: str, tmp_path: Path) -> None:
    chain = certificates.Chain(*(tmp_path / name for name in ("ca.pem", "server.pem", "server.key")))
    try:
        program = nginx.program()
        chain = certificates.chain("p-256", tmp_path)
    except UserError as error:
        pytest.skip(str(error))
    text = server.configuration(
        tmp_path, address="127.0.0.1", port=PORT, http=http, chain=chain.certificate, key=str(chain.key)
    )
    file = tmp_path / "nginx.conf"
    file.write_text(text)
    done = subprocess.run(
        [str(program), "-t", "-p", str(tmp_path), "-e", "stderr", "-c", str(file)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_nginx_serves_every_kind_with_its_type_over_one_protocol(tmp_path: Path) -> None:
    two, three = (
        server.configuration(
            tmp_path, address="fd00::1", port=PORT, http=http, chain=tmp_path / "c", key=str(tmp_path / "k")
        )
        for http in ("2", "3")
    )
    assert "listen [fd00::1]:5001 ssl;" in two and "listen [fd00::1]:5001 quic;" in three
    for kind, media in files.TYPES.items():
        assert f"location /{kind}- {{ default_type {media}; }}" in two


# --- what a browser tells

FAKE = """\
import json, os
def hear():
    text = b""
    while not text.endswith(b"\\0"):
        block = os.read(3, 1)
        if not block:
            raise SystemExit
        text += block
    return json.loads(text[:-1])
def say(message):
    os.write(4, json.dumps(message).encode() + b"\\0")
while True:
    asked = hear()
    if asked["method"] == "Browser.close":
        break
    say({"method": "Before", "params": {"of": asked["method"]}})
    if asked["method"] == "Refused":
        say({"id": asked["id"], "error": {"message": "no such thing"}})
    else:
        say({"id": asked["id"], "result": {"session": asked.get("sessionId"), **asked["params"]}})
"""


def test_a_browser_answers_and_its_events_wait(tmp_path: Path) -> None:
    with Browser([sys.executable, "-c", FAKE], tmp_path) as browser:
        assert browser.call("Echo", {"a": 1}, "s") == {"session": "s", "a": 1}
        with pytest.raises(Failed, match="does not do Refused: no such thing"):
            browser.call("Refused", {})
        events = list(browser.events(time.monotonic() + 0.2))
    assert events == [("Before", {"of": "Echo"}), ("Before", {"of": "Refused"})]
    assert browser._process.returncode == 0


def test_a_browser_that_ends_is_one_sentence(tmp_path: Path) -> None:
    broken = ["sh", "-c", "echo no display >&2"]
    with (
        pytest.raises(Failed, match="the browser ended by itself: no display"),
        Browser(broken, tmp_path) as browser,
    ):
        time.sleep(0.2)
        browser.call("Anything", {})


def asked(place: int, at_s: float = 10.0) -> tuple[str, dict[str, object]]:
    request = {"url": files.url(PAGE[place], PORT)}
    return "Network.requestWillBeSent", {"requestId": f"r{place}", "request": request, "timestamp": at_s}


def answered(place: int, protocol: str = "h3", status: int = 200) -> tuple[str, dict[str, object]]:
    response = {"protocol": protocol, "status": status}
    return "Network.responseReceived", {"requestId": f"r{place}", "response": response, "timestamp": 10.5}


def came(place: int, count_bytes: int) -> tuple[str, dict[str, object]]:
    return "Network.dataReceived", {"requestId": f"r{place}", "dataLength": count_bytes}


def finished(place: int) -> tuple[str, dict[str, object]]:
    return "Network.loadingFinished", {"requestId": f"r{place}", "timestamp": 11.0}


def test_a_load_is_whole_when_every_file_has_come() -> None:
    load = Load(PAGE, PORT, "h3")
    for place, file in enumerate(PAGE):
        assert not load.whole and load.missing() == file.name
        half = file.size_bytes // 2
        told = (asked(place), answered(place), came(place, half), came(place, file.size_bytes - half))
        for name, content in (*told, finished(place)):
            load.take(name, content)
    assert load.whole
    first = load.exchanges[0]
    assert (first.requested_ns, first.first_byte_ns) == (10_000_000_000, 10_500_000_000)
    assert (first.completed_ns, first.outcome) == (11_000_000_000, "ok")


@pytest.mark.parametrize(
    ("told", "words"),
    [
        (answered(0, protocol="h2"), "document-0 came with status 200 over h2, and h3 was asked for"),
        (answered(0, status=404), "document-0 came with status 404 over h3"),
        (finished(0), "0 of 4000 bytes of document-0 came"),
        (
            ("Network.loadingFailed", {"requestId": "r0", "errorText": "net::ERR_X"}),
            "did not come: net::ERR_X",
        ),
    ],
)
def test_a_file_that_came_otherwise_than_asked_fails_the_visit(
    told: tuple[str, dict[str, object]], words: str
) -> None:
    load = Load(PAGE, PORT, "h3")
    load.take(*asked(0))
    with pytest.raises(Failed, match=words):
        load.take(*told)


def test_requests_that_are_none_of_the_page_are_passed_over() -> None:
    load = Load(PAGE, PORT, "h3")
    other = {"requestId": "x", "request": {"url": "https://o0.test:5001/favicon.ico"}, "timestamp": 1.0}
    load.take("Network.requestWillBeSent", other)
    load.take("Network.loadingFailed", {"requestId": "x", "errorText": "none"})
    assert load.missing() == "document-0"


# --- the experiment


def test_a_browsers_visits_are_an_experiment_with_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chromium, "program", lambda: Path("/usr/bin/chromium"))
    monkeypatch.setattr(nginx, "program", lambda: Path("/opt/nginx/sbin/nginx"))
    text = Visits((7,), 1, 2, "h3-browser", 1).experiment()
    found = parse_experiment(text, "the visits", Path())
    assert found.text == text
    assert 'start = "8s"' in text
    assert "gauntlet.traffic.browser.client" in text and "gauntlet.traffic.browser.server" in text
    plain = Visits((7,), 1, 2, "h3", 1).experiment()
    assert "[stack" not in plain and 'start = "21s"' in plain

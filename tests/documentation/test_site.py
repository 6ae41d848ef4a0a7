"""The site builds, every link and page of it leads somewhere, and it asks no other machine for anything."""

import html.parser
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from .snippets import ROOT


def build(root: Path, out: Path) -> subprocess.CompletedProcess[str]:
    """Build the site of a checkout as `make docs` does."""
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(out)],
        cwd=root,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        check=False,
        capture_output=True,
        text=True,
    )


class Page(html.parser.HTMLParser):
    """What a page links to and loads, and the places in it."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.loaded: set[str] = set()
        self.places: set[str] = set()
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect."""
        given = {name: value or "" for name, value in attrs}
        self.places |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.add(given["href"])
        elif tag in ("script", "img", "iframe"):
            self.loaded.add(given.get("src", ""))
        elif tag == "link":
            self.loaded.add(given.get("href", ""))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site."""
    out = tmp_path_factory.mktemp("site")
    done = build(ROOT, out)
    assert done.returncode == 0, done.stdout + done.stderr
    return out


def test_every_link_leads_somewhere_and_nothing_comes_from_elsewhere(site: Path) -> None:
    pages = {file: Page(file) for file in site.rglob("*.html") if file.name != "404.html"}
    assert len(pages) > 30
    dead = []
    for file, page in pages.items():
        for address in page.loaded - {""}:
            assert not re.match(r"(https?:)?//", address), f"{file.name} loads {address}"
            dead += [] if (file.parent / address.partition("?")[0]).exists() else [(file.name, address)]
        for address in page.links:
            where, _, place = address.partition("#")
            if re.match(r"\w+:", where):
                continue
            target = (file.parent / where).resolve() if where else file
            known = (
                place in pages[target].places if place and target in pages else target.is_file() and not place
            )
            if not known:
                dead.append((file.name, address))
    assert dead == []


def test_no_block_of_code_is_taken_for_text(site: Path) -> None:
    # Fences that stand in code are shown as such; in text they are fences that Markdown did not know.
    for file in site.rglob("*.html"):
        text = re.sub(r"<(code|pre)\b.*?</\1>", "", file.read_text(encoding="utf-8"), flags=re.DOTALL)
        assert "```" not in text, file.name


def test_the_notebook_and_the_api_are_pages(site: Path) -> None:
    notebook = (site / "guide" / "notebook.html").read_text(encoding="utf-8")
    assert "Results in a notebook" in notebook
    assert 'class="highlight"' in notebook
    assert {"gauntlet.notebook.results.load", "gauntlet.table.Table.to_polars"} <= Page(
        site / "api.html"
    ).places


def copied(root: Path) -> Path:
    """What the site is made of, to be changed."""
    shutil.copytree(ROOT / "docs", root / "docs")
    for part in ("src", "crates", "packaging"):
        (root / part).symlink_to(ROOT / part)
    shutil.copy(ROOT / "mkdocs.yml", root)
    return root


def test_a_page_without_a_place_and_dead_links_end_the_build(tmp_path: Path) -> None:
    root = copied(tmp_path / "root")
    (root / "docs" / "new.md").write_text("# New\n")
    dead = ["nowhere.md", "../speed.md#nowhere", "../../src/nowhere.py"]
    with (root / "docs" / "guide" / "sql.md").open("a") as page:
        page.writelines(f"\n[there]({address})\n" for address in dead)
    done = build(root, tmp_path / "site")
    assert done.returncode != 0
    for complaint in ("new.md", "'nowhere.md'", "#nowhere", "nowhere.py"):
        assert complaint in done.stdout + done.stderr


def test_a_name_that_the_api_has_no_more_ends_the_build(tmp_path: Path) -> None:
    root = copied(tmp_path / "root")
    with (root / "docs" / "api.md").open("a") as page:
        page.write("\n::: gauntlet.nowhere\n")
    done = build(root, tmp_path / "site")
    assert done.returncode != 0
    assert "gauntlet.nowhere" in done.stdout + done.stderr


def test_lists_and_tables_begin_after_an_empty_line() -> None:
    """GitHub shows them either way; the site would show one paragraph."""
    found = []
    for document in sorted((ROOT / "docs").rglob("*.md")):
        text = re.sub(
            r"^```.*?^```", "", document.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE
        )
        for before, line in zip(text.splitlines(), text.splitlines()[1:], strict=False):
            begins = re.match(r"(\* |- |\d+\. |\|)", line)
            if begins and before.strip() and not re.match(r"(\* |- |\d+\. |\||\s|#|<!--)", before):
                found.append(f"{document.name}: {line[:60]}")
    assert found == []

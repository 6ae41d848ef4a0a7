"""A hook of MkDocs: notebooks become pages, links into the sources their paths, parts of files blocks."""

import json
import os
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

_PART_OF_A_FILE = re.compile(r"^(\s*```\w+) fragment$", re.MULTILINE)
_LINK = re.compile(r"\[([^]]+)\]\(((?:\.\./)*[\w./-]+)(#[\w-]+)?\)")


def on_config(config: MkDocsConfig) -> None:
    """Lets `nav` name the notebook, which is what stands in the folder."""
    config.nav = _renamed(config.nav)


def on_files(files: Files, config: MkDocsConfig) -> None:
    """Put a page in the place of each notebook."""
    for notebook in [file for file in files if file.src_uri.endswith(".ipynb")]:
        files.remove(notebook)
        text = markdown_of(Path(str(notebook.abs_src_path)))
        files.append(File.generated(config, _page_of(notebook.src_uri), content=text))


def on_page_markdown(text: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Links to notebooks lead to their pages. What is linked outside of the site is named: the site has no
    sources to show. A link to nothing stays, and the build refuses it. What a test reads behind a block's
    language (`fragment`) the site's Markdown takes for text.
    """
    docs = Path(config.docs_dir)
    folder = (docs / page.file.src_uri).parent

    def site(link: re.Match[str]) -> str:
        target = Path(os.path.normpath(folder / link[2]))
        if link[2].endswith(".ipynb"):
            return f"[{link[1]}]({_page_of(link[2])}{link[3] or ''})"
        if target.exists() and not target.is_relative_to(docs):
            return f"{link[1]} (`{target.relative_to(docs.parent)}`)"
        return link[0]

    return _LINK.sub(site, _PART_OF_A_FILE.sub(r"\1", text))


def markdown_of(notebook: Path) -> str:
    """A notebook as Markdown."""
    parts = []
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        text = "".join(cell["source"])
        parts.append(f"```python\n{text}\n```" if cell["cell_type"] == "code" else text)
    return "\n\n".join(parts) + "\n"


def _page_of(name: str) -> str:
    return name.replace(".ipynb", ".md")


def _renamed(nav: object) -> object:
    if isinstance(nav, list):
        return [_renamed(item) for item in nav]
    if isinstance(nav, dict):
        return {title: _renamed(item) for title, item in nav.items()}
    return _page_of(nav) if isinstance(nav, str) else nav

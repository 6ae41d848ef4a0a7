"""One HTML file out of a template: styles, scripts, the drawing library and the data are all inside."""

import contextlib
import importlib.metadata
import json
import re
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

import jinja2
import vl_convert
from markupsafe import Markup

from gauntlet import __version__
from gauntlet.engine import cache_folder
from gauntlet.metrics.numbers import grouped
from gauntlet.results.files import write_whole

_SNIPPET = "window.vegaEmbed = vegaEmbed;"
"""What the page needs of the bundled libraries."""

_INSIDE_QUANTITY = re.compile(
    r"(?<=\d) (?=%|(?:s|ms|min|h|B|kB|MB|KiB|MiB|kbit/s|Mbit/s|km|km/h)\b)"
    r"|(?<=\b[nN]) (?== \d)|(?<=\b[nN] =) (?=\d)"
)


def render(
    template: str, *, page_data: Any, protocol_css: str, more_css: Sequence[str] = (), **values: Any
) -> str:
    """The page of a template in `templates/`, which extends `base.html.j2`.

    `page_data` is what `report.js` draws from: `figures` (name -> spec, and csv where the spec does not hold
    it) and `series`. `more_css` names further style sheets in `templates/`.
    """
    return render_still(
        template,
        more_css=more_css,
        last_css=protocol_css,
        library=Markup(_library()),
        page_data=Markup(_embedded(page_data)),
        js=Markup(_text("report.js")),
        **values,
    )


def render_still(template: str, *, more_css: Sequence[str] = (), last_css: str = "", **values: Any) -> str:
    """The page of a template that empties the blocks `script_source` and `scripts`: it draws nothing."""
    environment = jinja2.Environment(
        autoescape=True,
        trim_blocks=True,
        undefined=jinja2.StrictUndefined,
        finalize=_with_units_kept,
        loader=jinja2.FunctionLoader(_text),
    )
    environment.filters["grouped"] = lambda value: grouped(str(value))
    styles = [_text("report.css"), *(_text(name) for name in more_css), last_css]
    page = environment.get_template(template).render(
        css=Markup("\n".join(styles)), version=__version__, **values
    )
    return page.lstrip()


def _with_units_kept(value: Any) -> Any:
    """Text in which no line ends between a number and its unit, or within "n = 10"."""
    return _INSIDE_QUANTITY.sub("\N{NO-BREAK SPACE}", value) if type(value) is str else value


def _text(name: str) -> str:
    return files("gauntlet.report").joinpath("templates", name).read_text()


def _library() -> str:
    """Vega, Vega-Lite and vega-embed in one script, kept in the user's cache: bundling takes seconds."""
    kept = cache_folder() / "report" / f"vega-{importlib.metadata.version('vl-convert-python')}.js"
    try:
        return kept.read_text()
    except OSError:
        bundle = str(vl_convert.javascript_bundle(snippet=_SNIPPET))
    # A script element ends at its closing tag wherever that stands.
    bundle = bundle.replace("</script", "<\\/script")
    with contextlib.suppress(OSError):
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_whole(kept, bundle.encode())
    return bundle


def _embedded(value: Any) -> str:
    """JSON inside a script element."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).replace("</", "<\\/")

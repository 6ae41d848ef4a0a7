"use strict";
(() => {
  const page = JSON.parse(document.getElementById("page-data").textContent);
  const views = {};
  const options = { actions: false, renderer: "svg", tooltip: { theme: matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light" } };

  // On a narrow page small multiples stand below each other, as wide as the page, and legends below the chart:
  // what is cut off at the side looks empty. The widths match the rule for narrow pages in report.css.
  const NARROW = { page: "(max-width: 760px)", zoom: 0.8, axis: 110, least: 160 };
  const narrowed = (spec, width, shape) => {
    const made = { ...spec };
    if (typeof made.width === "number") {
      made.width = Math.min(made.width, width);
      if (shape && typeof made.height === "number") made.height *= made.width / spec.width;
    }
    if (made.facet) made.columns = 1;
    if (made.spec) made.spec = narrowed(made.spec, width, shape);
    // Words of these layers have no room here (gauntlet.figures.map).
    if (made.layer) made.layer = made.layer.filter((part) => !part.name?.startsWith("wide"));
    if (made.hconcat) {
      // What stands side by side comes below each other.
      made.vconcat = made.hconcat;
      delete made.hconcat;
      delete made.spacing;
    }
    for (const parts of ["layer", "vconcat"]) if (made[parts]) made[parts] = made[parts].map((part) => narrowed(part, width, shape));
    return made;
  };
  const narrow = (spec) => matchMedia(NARROW.page).matches && !spec.usermeta?.keepsWidth;
  const fitting = (spec, element, axis) => {
    if (!narrow(spec)) return spec;
    const made = narrowed(spec, Math.max(element.clientWidth / NARROW.zoom - axis, NARROW.least), spec.usermeta?.keepsShape);
    made.config = { ...made.config, legend: { ...made.config?.legend, orient: "bottom", columns: 2 } };
    return made;
  };

  const draw = async (name) => {
    const element = document.getElementById(`chart-${name}`);
    const { spec } = page.figures[name];
    // What keeps its shape is a map: it has no axis.
    const axis = spec.usermeta?.keepsShape ? 0 : NARROW.axis;
    let result = await vegaEmbed(element, fitting(spec, element, axis), options);
    // How much stands beside the axes (names of rows, words at the edge) is known once they are drawn.
    const over = element.querySelector("svg").width.baseVal.value - element.clientWidth / NARROW.zoom;
    if (narrow(spec) && over > 0) result = await vegaEmbed(element, fitting(spec, element, axis + over), options);
    views[name] = result.view;
  };

  // Charts made from CSV text hold their own data, once.
  const csvOf = (figure) => figure.csv ?? Object.values(figure.spec.datasets ?? {}).join("\n");

  const save = (content, type, file) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([content], { type }));
    link.download = file;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };

  document.querySelectorAll("[data-save]").forEach((button) =>
    button.addEventListener("click", () => {
      const [kind, name] = button.dataset.save.split(":");
      if (kind === "csv") save(csvOf(page.figures[name]), "text/csv", `${name}.csv`);
      else views[name].toSVG().then((svg) => save(svg, "image/svg+xml", `${name}.svg`));
    })
  );

  document.querySelectorAll("[data-kpi]").forEach((button) =>
    button.addEventListener("click", () => {
      document.querySelectorAll("[data-kpi]").forEach((other) => other.setAttribute("aria-pressed", other === button));
      document.querySelectorAll(".kpi").forEach((table) => { table.hidden = table.id !== button.dataset.kpi; });
    })
  );

  const flow = document.getElementById("pick-flow");
  if (flow) flow.addEventListener("change", () => {
    const tabs = document.querySelectorAll("#answer .tabs");
    tabs.forEach((of, place) => { of.hidden = place !== Number(flow.value); });
    tabs[flow.value].querySelector("button").click();
  });

  document.querySelectorAll("[data-verdict]").forEach((button) =>
    button.addEventListener("click", () => {
      document.querySelectorAll("[data-verdict]").forEach((other) => other.setAttribute("aria-pressed", other === button));
      document.querySelectorAll("[data-is]").forEach((row) => { row.hidden = !["", row.dataset.is].includes(button.dataset.verdict); });
    })
  );

  const picks = { condition: document.getElementById("pick-condition"), repetition: document.getElementById("pick-repetition"), protocol: document.getElementById("pick-protocol") };
  const fields = ["t", "end", "throughput", "capacity", "cwnd", "rtt", "losses"];

  const chosen = () => page.series.filter((run) =>
    run.condition === Number(picks.condition.value) && run.repetition === Number(picks.repetition.value) &&
    (picks.protocol.value === "" || run.protocol === picks.protocol.value));

  const show = () => {
    const runs = chosen();
    const rows = runs.flatMap((run) => run.t.map((_, at) => {
      const row = { protocol: run.line, flow: run.flow };
      fields.forEach((field) => { row[field] = run[field][at]; });
      // Windows touch; `end` is that of the last one.
      row.end = at + 1 < run.t.length ? run.t[at + 1] : run.end;
      return row;
    }));
    const header = ["protocol", "flow", ...fields];
    page.figures["time-series"].csv = [header, ...rows.map((row) => header.map((field) => row[field] ?? ""))].map((line) => line.join(",")).join("\n") + "\n";
    const doubtful = runs.filter((run) => !run.trusted).map((run) => run.run);
    const note = document.getElementById("series-note");
    note.hidden = runs.length > 0 && doubtful.length === 0;
    note.textContent = runs.length === 0 ? "There is no run here." : `Not trusted: ${doubtful.join(", ")}. See Trust.`;
    const spec = structuredClone(page.figures["time-series"].spec);
    spec.data = { name: "series", values: rows };
    page.figures["time-series"].spec = spec;
    return draw("time-series");
  };

  if (picks.condition) {
    Object.values(picks).forEach((pick) => pick.addEventListener("change", show));
    document.querySelectorAll("td[data-condition]").forEach((cell) => {
      const go = () => {
        picks.condition.value = cell.dataset.condition;
        picks.protocol.value = cell.dataset.protocol;
        show().then(() => document.getElementById("time-series").scrollIntoView());
      };
      cell.addEventListener("click", go);
      cell.addEventListener("keydown", (event) => { if (event.key === "Enter") go(); });
    });
  }

  // One after the other, so that the page can be read while the last are drawn.
  const drawAll = async () => {
    for (const name of Object.keys(page.figures)) {
      await draw(name);
      await new Promise((go) => setTimeout(go));
    }
    document.documentElement.dataset.drawn = "yes";
  };
  drawAll();
})();

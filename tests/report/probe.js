// Run inside the page by test_browser.py: it acts as a reader would and leaves what it saw as data of the body.
addEventListener("error", (event) => { document.body.dataset.failure = event.message; });
(async () => {
  const wait = (ms) => new Promise((done) => setTimeout(done, ms));
  for (let turn = 0; turn < 200 && !document.documentElement.dataset.drawn; turn += 1) await wait(50);
  const lines = () => document.querySelectorAll("#chart-time-series .mark-line.role-mark path").length;
  const seen = document.body.dataset;
  seen.figures = document.querySelectorAll(".chart svg").length;
  seen.charts = document.querySelectorAll(".chart").length;
  seen.all = lines();
  document.querySelector('td[data-condition="1"][data-protocol="UDP"]').click();
  await wait(500);
  seen.one = lines();
  seen.picked = document.getElementById("pick-condition").value + document.getElementById("pick-protocol").value;
  document.querySelector('[data-kpi="kpi-throughput_bps"]').click();
  seen.table = [...document.querySelectorAll(".kpi")].filter((table) => !table.hidden).map((table) => table.id).join();
  seen.overflow = document.documentElement.scrollWidth - document.documentElement.clientWidth;
  seen.probed = "yes";
})();

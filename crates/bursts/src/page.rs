//! The page that tells what came out, from what was played.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

use crate::grid::{Cell, Grid, Line};
use crate::modes;
use crate::table::{Flow, Transfer};
use crate::verdict::{Results, Verdict, results};
use crate::whole;

/// Who is judged.
const JUDGED: &str = "restp-file_harq";
/// The same in the laboratory, which has names of its own.
const JUDGED_IN_LABORATORY: &str = "restp-file-harq";
/// Without congestion control and without a handshake, so that it is a class of its own.
const UNCONTROLLED: &str = "kcp";
/// What stands between the goals and their confirmation.
const CONFIRMATION: &str = "### The same with fresh seeds\n\nRecovery was tuned while the seeds above were watched. These were \
    registered unseen, and nothing was changed between their registration and their play.\n\n";
/// What stands before the tables of the simulator.
const PICTURE: &str = "## Transfers\n\n![In the simulator: how much longer than the fastest with congestion control each stack \
    takes](images/bursts.svg)\n\nThe picture compares with the fastest that has congestion control, so that `kcp` is faster \
    than that where it stands among the fastest.\n\n";
/// What stands before what the laboratory says.
const LABORATORY: &str = include_str!("laboratory.md");
/// What stands before the numbers.
const PREFACE: &str = include_str!("preface.md");
/// What stands after them.
const REMARKS: &str = include_str!("remarks.md");

/// The page from the outputs of `transfers`, `transfers --fresh`, `messages` and of `laboratory.py`.
///
/// # Errors
/// A sentence: a file cannot be read, or is not such an output.
pub fn write(transfers: &Path, fresh: &Path, messages: &Path, laboratory: &Path) -> Result<String, String> {
    let grid = Grid::registered();
    let [tries, again, kernel] = [transfers, fresh, laboratory]
        .map(|path| read(path, Transfer::HEAD, |line| Transfer::from_line(line, &grid)));
    let (tries, again, kernel) = (tries?, again?, self::results(&kernel?));
    let flows = read(messages, Flow::HEAD, Flow::from_line)?;
    let (tries, again) = (whole::cells(&grid, tries, false), whole::cells(&grid, again, true));
    let results = results(&tries);
    let mut page = PREFACE.to_owned();
    page.push_str("## Goals\n\n");
    page.push_str(&whole::missing(&grid, &tries));
    page.push_str(&goals(&grid, &results, JUDGED, &AGAINST));
    page.push_str(CONFIRMATION);
    page.push_str(&whole::missing(&grid, &again));
    page.push_str(&goals(&grid, &self::results(&again), JUDGED, &AGAINST));
    page.push_str(LABORATORY);
    page.push_str(&goals(&grid, &kernel, JUDGED_IN_LABORATORY, &AGAINST[..1]));
    page.push_str(&tally(&grid, &kernel));
    page.push_str(PICTURE);
    page.push_str("In the simulator. ");
    page.push_str(&transfer_tables(&results));
    page.push_str(&modes::table(&again));
    page.push_str("\n## Transfers in the laboratory\n\n");
    page.push_str(&transfer_tables(&kernel));
    page.push_str(&message_table(&flows));
    page.push_str(REMARKS);
    Ok(page)
}

fn read<T>(path: &Path, head: &str, parse: impl Fn(&str) -> Option<T>) -> Result<Vec<T>, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut lines = text.lines();
    if lines.next() != Some(head) {
        return Err(format!("{}: its first line should be `{head}`", path.display()));
    }
    let rows = lines.filter(|line| !line.is_empty());
    rows.map(|line| parse(line).ok_or_else(|| format!("{}: `{line}` is no row of the grid", path.display())))
        .collect()
}

fn name(cell: &Cell) -> String {
    let Line { loss_percent, burst_packets, rtt_ms } = cell.line;
    format!("{} kB, {loss_percent} % in {burst_packets}s, {rtt_ms} ms", cell.size_bytes / 1000)
}

/// Against whom: how a table's head says it, how a sentence does, and who counts.
type Against = (&'static str, &'static str, fn(&str) -> bool);
const AGAINST: [Against; 2] = [
    ("against all", "all", |_| true),
    ("without KCP", "those with congestion control", |name| name != UNCONTROLLED),
];

fn goals(grid: &Grid, results: &Results, judged: &str, against: &[Against]) -> String {
    let limits = grid.goals;
    let verdicts: Vec<(&str, Verdict)> = against
        .iter()
        .map(|(_, whom, counts)| (*whom, Verdict::on(judged, results, limits, counts)))
        .collect();
    let say = |reached: bool| if reached { "reached" } else { "not reached" };
    let finished = |verdict: &Verdict| {
        format!(
            "{}: left behind in {} of {} cells",
            say(verdict.left_behind.is_empty()),
            verdict.left_behind.len(),
            verdict.cells
        )
    };
    let fast = |verdict: &Verdict| {
        let share = verdict.fast_percent();
        format!("{}: {share:.0} % of cells", say(share >= limits.within_share_percent))
    };
    let slow = |verdict: &Verdict| {
        let worst = verdict.slow.iter().map(|(_, ratio)| *ratio).fold(1.0, f64::max);
        let worst =
            if verdict.slow.is_empty() { String::new() } else { format!(", {worst:.1} times at worst") };
        format!("{}: slower in {} cells{worst}", say(verdict.slow.is_empty()), verdict.slow.len())
    };
    let near = format!(
        "fastest or within {:.0} % of it in {:.0} % of the cells",
        (limits.within_ratio - 1.0) * 100.0,
        limits.within_share_percent
    );
    let bound = format!("never slower than {} times the fastest", limits.never_slower_than_ratio);
    let heads: Vec<&str> = against.iter().map(|(head, ..)| *head).collect();
    let mut text = format!("| goal | {} |\n|---|{}\n", heads.join(" | "), "---|".repeat(heads.len()));
    let mut row = |goal: &str, told: &dyn Fn(&Verdict) -> String| {
        let columns: Vec<String> = verdicts.iter().map(|(_, verdict)| told(verdict)).collect();
        let _ = writeln!(text, "| {goal} | {} |", columns.join(" | "));
    };
    row("finished in every cell where any of them finishes", &finished);
    row(&near, &fast);
    row(&bound, &slow);
    for (whom, verdict) in &verdicts {
        let cells: Vec<String> =
            verdict.slow.iter().map(|(cell, ratio)| format!("{} ({ratio:.1})", name(cell))).collect();
        if !cells.is_empty() && cells.len() <= 12 {
            let _ = writeln!(text, "\nSlower than the bound against {whom}: {}.", cells.join("; "));
        }
        let cells: Vec<String> = verdict.left_behind.iter().map(name).collect();
        if !cells.is_empty() {
            let _ = writeln!(text, "\nLeft behind by {whom}: {}.", cells.join("; "));
        }
    }
    text.push('\n');
    text
}

/// A cell's results by stack.
type Row = BTreeMap<String, crate::verdict::Result>;

fn stacks(results: &Results) -> BTreeSet<&String> {
    results.values().flat_map(BTreeMap::keys).collect()
}

/// The least median of a cell in seconds; infinite where nobody arrives.
fn fastest_s(row: &Row) -> f64 {
    row.values().map(|result| result.median_s).fold(f64::INFINITY, f64::min)
}

/// What each stack finishes, and in how many cells none is faster by more than the goal has it.
fn tally(grid: &Grid, results: &Results) -> String {
    let mut text = String::from(
        "| stack | tries finished | cells finished whole | fastest or near it |\n|---|---|---|---|\n",
    );
    for stack in stacks(results) {
        let own: Vec<_> = results.values().filter_map(|row| row.get(stack)).collect();
        let (finished, tries) =
            own.iter().fold((0, 0), |(finished, tries), it| (finished + it.finished, tries + it.tries));
        let whole = own.iter().filter(|it| it.finishes()).count();
        let near = |row: &&Row| {
            let fastest_s = fastest_s(row);
            fastest_s.is_finite()
                && row.get(stack).is_some_and(|it| it.median_s <= fastest_s * grid.goals.within_ratio)
        };
        let near = results.values().filter(near).count();
        let cells = own.len();
        let _ = writeln!(text, "| `{stack}` | {finished} of {tries} | {whole} of {cells} | {near} |");
    }
    text.push('\n');
    text
}

fn transfer_tables(results: &Results) -> String {
    let stacks = stacks(results);
    let sizes: BTreeSet<usize> = results.keys().map(|cell| cell.size_bytes).collect();
    let mut text = String::from(
        "Median seconds; in brackets how many tries finished, where not all did. Bold: the fastest.\n",
    );
    for size in sizes {
        let _ = writeln!(text, "\n### {} kB\n", size / 1000);
        let head: Vec<&str> = stacks.iter().map(|stack| stack.as_str()).collect();
        let _ = writeln!(
            text,
            "| loss | burst | RTT | {} |\n|---|---|---|{}",
            head.join(" | "),
            "---|".repeat(head.len())
        );
        for (cell, row) in results.iter().filter(|(cell, _)| cell.size_bytes == size) {
            let fastest_s = fastest_s(row);
            let _ = write!(
                text,
                "| {} % | {} | {} ms |",
                cell.line.loss_percent, cell.line.burst_packets, cell.line.rtt_ms
            );
            for stack in &stacks {
                let Some(result) = row.get(*stack) else {
                    text.push_str(" |");
                    continue;
                };
                let time = if result.median_s.is_finite() {
                    format!("{:.2}", result.median_s)
                } else {
                    "–".into()
                };
                let time = if result.median_s <= fastest_s && result.median_s.is_finite() {
                    format!("**{time}**")
                } else {
                    time
                };
                let note = if result.finishes() {
                    String::new()
                } else {
                    format!(" ({}/{})", result.finished, result.tries)
                };
                let _ = write!(text, " {time}{note} |");
            }
            text.push('\n');
        }
    }
    text
}

fn message_table(flows: &[Flow]) -> String {
    let stacks: BTreeSet<&str> = flows.iter().map(|flow| flow.stack.as_str()).collect();
    let lines: BTreeSet<Line> = flows.iter().map(|flow| flow.line).collect();
    let mut text = String::from(
        "\n## Messages\n\n160 bytes each 20 ms for 30 s, over a connection that stands; a message's time runs from when it is due. 99 % took at \
         most so many milliseconds; a dash where more than 1 % had not arrived 20 s after the last one was due, with the share that had. Where \
         ResTP's send buffer is full (1,024 messages of `voice`) a message is not sent, and counts as not arrived.\n\n\
         | column | what it is |\n|---|---|\n\
         | `restp-voice`, `-bbr`, `-fec` | the preset `voice` (BIC; repeated; a hole is passed over after 160 ms), over BBR, with interleaved encoded packets |\n\
         | `restp-none`, `restp-fec-only` | neither repeated nor controlled, without and with interleaved encoded packets |\n\
         | `restp-arq`, `restp-harq` | `file_harq` with fixed framing and without order: every message is repeated until it arrives, without and with encoded packets |\n\
         | `quinn-datagrams`, `quinn-stream` | datagrams (RFC 9221), never repeated; one stream, in order; both over CUBIC |\n\
         | `kcp` | repeated and in order, without congestion control |\n\n",
    );
    let head: Vec<&str> = stacks.iter().copied().collect();
    let _ = writeln!(
        text,
        "| loss | burst | RTT | {} |\n|---|---|---|{}",
        head.join(" | "),
        "---|".repeat(head.len())
    );
    for line in lines {
        let _ = write!(text, "| {} % | {} | {} ms |", line.loss_percent, line.burst_packets, line.rtt_ms);
        for stack in &stacks {
            let flow = flows.iter().find(|flow| flow.line == line && flow.stack == *stack);
            let _ = match flow {
                None => write!(text, " |"),
                Some(flow) if flow.p99_ms.is_finite() => write!(text, " {:.0} |", flow.p99_ms),
                Some(flow) => write!(text, " – ({:.1} %) |", flow.arrived_percent),
            };
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_wrote_is_on_the_page_as_it_stands_here() {
        let page = include_str!("../../../docs/bursts.md");
        assert!(page.starts_with(PREFACE), "preface.md");
        assert!(page.contains(CONFIRMATION), "the confirmation");
        assert!(page.contains(LABORATORY), "laboratory.md");
        assert!(page.ends_with(REMARKS), "remarks.md");
    }

    #[test]
    fn goals_are_reached_or_not_by_who_counts() {
        let grid = Grid::registered();
        let cell = grid.cells()[0];
        let told = |own, uncontrolled, other| {
            let of = |stack: &str, seconds| Transfer { stack: stack.into(), cell, seed: 1, seconds };
            let tries = [of(JUDGED, own), of(UNCONTROLLED, uncontrolled), of("quinn-bbr", other)];
            goals(&grid, &results(&tries), JUDGED, &AGAINST)
        };
        let text = told(Some(3.0), Some(1.0), Some(4.0));
        for wanted in [
            "| reached: left behind in 0 of 1 cells | reached: left behind in 0 of 1 cells |",
            "80 % of the cells | not reached: 0 % of cells | reached: 100 % of cells |",
            "| not reached: slower in 1 cells, 3.0 times at worst | reached: slower in 0 cells |",
        ] {
            assert!(text.contains(wanted), "{text}");
        }
        let text = told(None, Some(1.0), None);
        let wanted = "| not reached: left behind in 1 of 1 cells | reached: left behind in 0 of 1 cells |";
        assert!(text.contains(wanted), "{text}");
    }

    #[test]
    fn a_table_of_transfers_has_the_fastest_in_bold_and_a_dash_for_who_never_arrives() {
        let grid = Grid::registered();
        let cells = grid.cells();
        let later = cells.iter().find(|cell| cell.size_bytes != cells[0].size_bytes).unwrap();
        let tries = |stack: &'static str, cell: Cell, seconds: [Option<f64>; 3]| {
            (1..).zip(seconds).map(move |(seed, seconds)| Transfer {
                stack: stack.into(),
                cell,
                seed,
                seconds,
            })
        };
        let mut all = Vec::new();
        all.extend(tries("never", cells[0], [None, None, None]));
        all.extend(tries("often", cells[0], [Some(0.5), Some(2.25), None]));
        all.extend(tries("quick", cells[0], [Some(2.0), Some(0.25), Some(1.5)]));
        all.extend(tries("never", *later, [Some(1.0), Some(1.0), Some(1.0)]));
        let text = transfer_tables(&results(&all));
        let Line { loss_percent, burst_packets, rtt_ms } = cells[0].line;
        let row = format!(
            "| {loss_percent} % | {burst_packets} | {rtt_ms} ms | – (0/3) | 2.25 (2/3) | **1.50** |\n"
        );
        let head = "| loss | burst | RTT | never | often | quick |\n|---|---|---|---|---|---|\n";
        let (first, second) = text.split_once(&row).unwrap_or_else(|| panic!("{row}{text}"));
        assert!(first.contains(&format!("### {} kB\n\n{head}", cells[0].size_bytes / 1000)), "{text}");
        assert!(second.contains(&format!("### {} kB\n\n{head}", later.size_bytes / 1000)), "{text}");
        assert!(second.ends_with(" ms | **1.00** | | |\n"), "who took no part: {text}");
    }

    #[test]
    fn who_finishes_how_much_is_counted_by_tries_and_by_cells() {
        let grid = Grid::registered();
        let cells = grid.cells();
        let of = |stack: &str, cell, seed, seconds| Transfer { stack: stack.into(), cell, seed, seconds };
        let tries = [
            of("sure", cells[0], 1, Some(1.05)),
            of("sure", cells[1], 1, Some(3.0)),
            of("quick", cells[0], 1, Some(1.0)),
            of("quick", cells[1], 1, None),
            of("never", cells[2], 1, None),
        ];
        let text = tally(&grid, &results(&tries));
        for row in [
            "| `sure` | 2 of 2 | 2 of 2 | 2 |",
            "| `quick` | 1 of 2 | 1 of 2 | 1 |",
            "| `never` | 0 of 1 | 0 of 1 | 0 |",
        ] {
            assert!(text.contains(row), "{text}");
        }
    }

    #[test]
    fn a_table_of_messages_has_a_dash_and_the_share_where_too_many_never_arrived() {
        let lines = Grid::registered().lines();
        let flow = |stack: &str, line, arrived| {
            let delays_s =
                (1..=100).map(|ms| if ms <= arrived { f64::from(ms) / 1e3 } else { f64::INFINITY });
            Flow::of(stack, line, delays_s.collect())
        };
        let flows = [flow("udp", lines[1], 98), flow("kcp", lines[0], 100), flow("udp", lines[0], 99)];
        let text = message_table(&flows);
        let name =
            |line: Line| format!("| {} % | {} | {} ms |", line.loss_percent, line.burst_packets, line.rtt_ms);
        let rows = format!("{} 99 | 99 |\n{} | – (98.0 %) |\n", name(lines[0]), name(lines[1]));
        let head = "| loss | burst | RTT | kcp | udp |\n|---|---|---|---|---|\n";
        assert!(text.ends_with(&format!("{head}{rows}")), "{rows}{text}");
    }
}

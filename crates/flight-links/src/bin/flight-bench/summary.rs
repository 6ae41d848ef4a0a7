//! The middle of samples: median and quartiles of each column, by condition, from the rows that `messages`, `handshakes`
//! and `first-handshake` print. It reads them afterwards, so that nothing is kept or counted while something is timed.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use super::rows::{Outcome, unwritten};

/// Columns that say what was measured.
const CONDITIONS: [&str; 11] = [
    "security",
    "provider",
    "cipher",
    "group",
    "signature",
    "mutual",
    "resumption",
    "payload_octets",
    "gap_ms",
    "operation",
    "early",
];

/// Columns that say where in the measurement a row stands.
const PLACES: [&str; 2] = ["block", "order"];

/// Samples of one condition.
struct Samples {
    count: usize,
    columns: Vec<Vec<f64>>,
}

/// Prints the summary of a file, or of standard input.
pub fn run(path: Option<&Path>) -> Outcome {
    let (read, from) = match path {
        Some(path) => (fs::read_to_string(path), path.display().to_string()),
        None => (io::read_to_string(io::stdin()), "standard input".to_owned()),
    };
    let text = read.map_err(|error| format!("{from} cannot be read: {error}"))?;
    let told = summary(&text).map_err(|error| format!("{from}: {error}"))?;
    write!(io::stdout(), "{told}").map_err(|error| unwritten("summary", &error))
}

/// The summary of a table: a line a condition, below it a line a column.
fn summary(text: &str) -> Result<String, String> {
    let mut lines = text.lines();
    let heading: Vec<_> = lines.next().unwrap_or_default().split(',').collect();
    let mut found: BTreeMap<Vec<(u64, String)>, Samples> = BTreeMap::new();
    for (line, text) in (2..).zip(lines) {
        let row: Vec<_> = text.split(',').collect();
        if row.len() != heading.len() {
            return Err(format!("line {line} has {} values, the heading {}", row.len(), heading.len()));
        }
        let cells = || heading.iter().copied().zip(row.iter().copied());
        // Numbers in the order of their size.
        let condition = cells()
            .filter(|(name, _)| CONDITIONS.contains(name))
            .map(|(name, value)| (value.parse::<u64>().unwrap_or(0), called(name, value)));
        let samples = found
            .entry(condition.collect())
            .or_insert_with(|| Samples { count: 0, columns: vec![Vec::new(); heading.len()] });
        samples.count += 1;
        for ((name, value), column) in cells().zip(&mut samples.columns) {
            let counts = !CONDITIONS.contains(&name) && !PLACES.contains(&name);
            // What a security has not is empty, as the ciphers of ResTP have no meter.
            if counts && !value.is_empty() {
                column.push(value.parse::<f64>().map_err(|_| {
                    format!(
                        "line {line}: «{value}» of {name} is no number; rows of messages, handshakes and \
                         first-handshake have numbers"
                    )
                })?);
            }
        }
    }
    if found.is_empty() {
        return Err("there is no row".to_owned());
    }
    let mut told = "Median, and the quartiles between which half of the samples lie.\n".to_owned();
    for (condition, samples) in found {
        let words: Vec<_> = condition.into_iter().map(|(_, words)| words).collect();
        let count = samples.count;
        let noun = if count == 1 { "sample" } else { "samples" };
        told += &format!("\n{}: {count} {noun}\n", words.join(", "));
        for (name, mut column) in heading.iter().zip(samples.columns) {
            column.sort_unstable_by(f64::total_cmp);
            if let Some([low, middle, high]) = quartiles(&column) {
                let _ = writeln!(told, "  {name:<30} {middle:>12}   {low} to {high}");
            }
        }
    }
    Ok(told)
}

/// A condition for people: a name as it is, a number or a truth behind the name of its column.
fn called(name: &str, value: &str) -> String {
    let alone = value.parse::<u64>().is_err() && value.parse::<bool>().is_err();
    if alone { value.to_owned() } else { format!("{name} {value}") }
}

/// The first quartile, the median and the third quartile of sorted numbers, straight between two of them where they fall
/// between (to a tenth); none without a number.
fn quartiles(sorted: &[f64]) -> Option<[f64; 3]> {
    let last = sorted.len().checked_sub(1)?;
    Some([1, 2, 3].map(|quarter| {
        let place = (last * quarter) as f64 / 4.0;
        let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
        let value = below + (above - below) * place.fract();
        (10.0 * value).round() / 10.0
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_lie_between_samples() {
        assert_eq!(quartiles(&[]), None);
        assert_eq!(quartiles(&[7.0]), Some([7.0, 7.0, 7.0]));
        assert_eq!(quartiles(&[1.0, 2.0, 3.0, 4.0]), Some([1.8, 2.5, 3.3]));
        assert_eq!(quartiles(&[1.0, 2.0, 3.0, 4.0, 100.0]), Some([2.0, 3.0, 4.0]));
    }

    #[test]
    fn each_condition_has_its_medians_numbers_in_the_order_of_their_size() {
        let text = "security,payload_octets,mutual,block,order,operation,total_ns,crypto_ns\n\
                    restp,1024,true,0,1,apply,30,\n\
                    restp,1024,true,1,1,apply,10,\n\
                    restp,1024,true,1,2,apply,20,\n\
                    sdls-gcm,1024,true,0,2,apply,900,5\n\
                    restp,128,true,0,3,apply,8,\n";
        assert_eq!(
            summary(text).unwrap(),
            "Median, and the quartiles between which half of the samples lie.\n\
             \n\
             restp, payload_octets 128, mutual true, apply: 1 sample\n  \
             total_ns                                  8   8 to 8\n\
             \n\
             restp, payload_octets 1024, mutual true, apply: 3 samples\n  \
             total_ns                                 20   15 to 25\n\
             \n\
             sdls-gcm, payload_octets 1024, mutual true, apply: 1 sample\n  \
             total_ns                                900   900 to 900\n  \
             crypto_ns                                 5   5 to 5\n"
        );
    }

    #[test]
    fn what_is_no_table_of_samples_is_refused() {
        let refused = |text| summary(text).unwrap_err();
        assert_eq!(refused(""), "there is no row");
        assert_eq!(refused("security,total_ns\n"), "there is no row");
        assert_eq!(refused("security,total_ns\nrestp\n"), "line 2 has 1 values, the heading 2");
        assert!(
            refused("attack,security,outcome\nreplay,restp,fails\n")
                .starts_with("line 2: «replay» of attack")
        );
    }
}

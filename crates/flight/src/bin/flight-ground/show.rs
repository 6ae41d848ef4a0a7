//! The result, for people and for machines.

use std::time::Duration;

use flight::ground::{Report, Row, Spread};
use flight::security::Link;
use serde_json::{Value, json};

/// A table, and what the link refused.
pub fn text(report: &Report, link: &Link) -> String {
    let mut text = report.to_string();
    for (code, count) in &link.counters().refused {
        text += &format!("refused as {code}: {count}\n");
    }
    if link.incomplete() > 0 {
        text += &format!("messages of which only a part came: {}\n", link.incomplete());
    }
    text
}

/// One JSON object, times in microseconds.
pub fn json(report: &Report, link: &Link) -> String {
    let counters = link.counters();
    let object = json!({
        "work": report.work,
        "times": report.times(),
        "rows": report.rows.iter().map(row).collect::<Vec<_>>(),
        "link": {
            "security": link.name(),
            "messages_out": counters.messages_out,
            "datagrams_out": counters.datagrams_out,
            "datagrams_in": counters.datagrams_in,
            "messages_in": counters.messages_in,
            "refused": counters.refused,
            "incomplete": link.incomplete(),
        },
    });
    format!("{object}\n")
}

fn row(row: &Row) -> Value {
    let spread = row.spread();
    let of = |pick: fn(&Spread) -> Duration| spread.as_ref().map(|spread| micros(pick(spread)));
    json!({
        "payload_octets": row.step.payload_octets,
        "gap_us": micros(row.step.gap),
        "sent": row.sent,
        "received": row.received,
        "lost": row.lost(),
        "duplicates": row.duplicates,
        "least_us": of(|spread| spread.least),
        "median_us": of(|spread| spread.median),
        "p99_us": of(|spread| spread.p99),
        "greatest_us": of(|spread| spread.greatest),
        "times_us": row.times.iter().map(|time| time.map(micros)).collect::<Vec<_>>(),
    })
}

fn micros(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e3
}

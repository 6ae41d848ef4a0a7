//! What the kernel of a node counted of packets that it took, refused or answered: the counters of nstat(8), whose names
//! they have (Linux `Documentation/networking/snmp_counter.rst`).

use std::collections::BTreeMap;

use netlab::{Network, Node};
use serde::Serialize;

use crate::failure::Result;
use crate::plan::Run;

/// The counters of a node that are not 0.
#[derive(Debug, Serialize)]
pub struct KernelCounters {
    /// Its name.
    pub node: String,
    /// By name.
    pub counters: BTreeMap<String, u64>,
}

/// Settings and levels that stand among the counters.
const NO_COUNTERS: &[&str] =
    &["IpForwarding", "IpDefaultTTL", "TcpRtoAlgorithm", "TcpRtoMin", "TcpRtoMax", "TcpCurrEstab"];

/// Those of every host of a run: every node that a flow or a program names.
///
/// # Errors
/// A node is unknown.
pub fn of_hosts(run: &Run, network: &Network) -> Result<Vec<KernelCounters>> {
    run.hosts()
        .into_iter()
        .map(|host| {
            let counters = of(network.node(host)?).unwrap_or_default();
            let counters = counters
                .into_iter()
                .filter(|(name, count)| *count > 0 && !NO_COUNTERS.contains(&name.as_str()));
            Ok(KernelCounters { node: host.to_owned(), counters: counters.collect() })
        })
        .collect()
}

/// Those of a node, and the settings among them; none where they cannot be read.
pub fn of(node: &Node) -> Option<BTreeMap<String, u64>> {
    let read = |name: &str| std::fs::read_to_string(format!("/proc/thread-self/net/{name}"));
    let texts = node.enter(|| {
        // A kernel may lack the second, and IPv6 with the third.
        let (more, six) = (read("netstat").unwrap_or_default(), read("snmp6").unwrap_or_default());
        Ok::<_, std::io::Error>((read("snmp")?, more, six))
    });
    let (four, more, six) = texts.ok()?;
    Some(in_pairs(&four).chain(in_pairs(&more)).chain(in_lines(&six)).collect())
}

/// Two lines for each protocol: names, then values.
fn in_pairs(text: &str) -> impl Iterator<Item = (String, u64)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for pair in lines.chunks_exact(2) {
        let (Some((protocol, names)), Some((_, values))) =
            (pair[0].split_once(": "), pair[1].split_once(": "))
        else {
            continue;
        };
        for (name, value) in names.split_whitespace().zip(values.split_whitespace()) {
            if let Ok(value) = value.parse() {
                found.push((format!("{protocol}{name}"), value));
            }
        }
    }
    found.into_iter()
}

/// A line for each counter.
fn in_lines(text: &str) -> impl Iterator<Item = (String, u64)> {
    text.lines().filter_map(|line| {
        let (name, value) = line.split_once(char::is_whitespace)?;
        Some((name.to_owned(), value.trim().parse().ok()?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_are_read_and_what_is_no_count_is_left() {
        let pairs = "Tcp: RtoAlgorithm MaxConn OutRsts\nTcp: 1 -1 4\nTcpExt: SyncookiesSent TCPChallengeACK\n\
                     TcpExt: 0 7\n";
        let found: BTreeMap<_, _> = in_pairs(pairs).collect();
        let expected = [
            ("TcpExtSyncookiesSent", 0),
            ("TcpExtTCPChallengeACK", 7),
            ("TcpOutRsts", 4),
            ("TcpRtoAlgorithm", 1),
        ];
        assert_eq!(found, expected.map(|(name, count)| (name.to_owned(), count)).into());
        let found: Vec<_> =
            in_lines("Udp6InDatagrams                 \t5\nUdp6RcvbufErrors\t3\nodd\n").collect();
        assert_eq!(found, [("Udp6InDatagrams".to_owned(), 5), ("Udp6RcvbufErrors".to_owned(), 3)]);
        assert_eq!((in_pairs("").count(), in_lines("").count()), (0, 0));
    }
}

//! Each attack on the server that lacks the bound by which it ends, beside the sound one: the positive controls, end to
//! end, with the attacks and weaknesses that `src/gauntlet/attack/kinds.py` puts together.
//!
//! That of `crypto-after-handshake` is with its weakness, and on the sound server in `attacked.rs`.

use serde_json::{Value, json};
use web::protocol::Protocol;

use crate::common::{Server, number};
use crate::{LONG, nothing_ended};

/// A sound server and one without some bounds, which are told the same otherwise.
struct Both {
    sound: Server,
    weak: Server,
}

impl Both {
    fn start(attack: &str, protocol: Protocol, options: &[&str], weaknesses: &[&str]) -> Self {
        let lacking: Vec<&str> = weaknesses.iter().flat_map(|name| ["--weakness", *name]).collect();
        let sound = Server::start(&format!("{attack}-sound"), protocol, options);
        let weak =
            Server::start(&format!("{attack}-weak"), protocol, &[options, lacking.as_slice()].concat());
        assert_eq!((&sound.ready["weaknesses"], &weak.ready["weaknesses"]), (&json!([]), &json!(weaknesses)));
        Self { sound, weak }
    }

    /// What the same attack comes to on each, at the same time.
    async fn attacked(&self, words: &str) -> (Value, Value) {
        tokio::join!(self.sound.attacked(words), self.weak.attacked(words))
    }

    /// A count of each.
    fn numbers(&mut self, name: &str) -> [u64; 2] {
        [&mut self.sound, &mut self.weak].map(|server| number(&server.now(), name))
    }
}

/// Ten connections that are slow for two seconds: the sound server ends each by `limit`, the weak one none.
async fn slow(variant: &str, options: &[&str], weaknesses: &[&str], limit: &str) {
    // The library of HTTP/2 takes five pieces of a head, so that no more may come in this time.
    const HELD: &str = "--held 10 --rate 50 --seconds 2 --interval-ms 400";
    for protocol in Protocol::ALL {
        let over = protocol.name();
        let mut both = Both::start(variant, protocol, options, weaknesses);
        let (ended, kept) =
            both.attacked(&format!("slow --protocol {over} --variant {variant} {HELD}")).await;
        let now = both.sound.now();
        assert!(number(&now["refused"], limit) >= 10, "{over}: {now} {ended}");
        nothing_ended(&both.weak.now());
        let came = ["held_max", "completed", "failed"].map(|name| number(&kept, name));
        assert_eq!(came, [10, 10, 0], "{over}: {kept}");
    }
}

#[tokio::test]
async fn handshake_stall() {
    let options = ["--handshake-timeout-ms", "300"];
    slow("handshake-stall", &options, &["no-handshake-timeout"], "handshake_timeout").await;
}

#[tokio::test]
async fn header_drip() {
    slow("header-drip", &["--header-timeout-ms", "300"], &["no-header-timeout"], "header_timeout").await;
}

#[tokio::test]
async fn body_drip() {
    let lacking = ["no-body-timeout", "no-idle-timeout"];
    slow("body-drip", &["--body-timeout-ms", "300"], &lacking, "body_timeout").await;
}

#[tokio::test]
async fn window_starvation() {
    slow("window-starvation", &["--idle-timeout-ms", "500"], &["no-idle-timeout"], "idle_timeout").await;
}

/// What is asked for is 10 MB: the weak server hands over all of it, and has to keep it, since nothing is acknowledged.
/// Over HTTP/1.1 what waits is the kernel's, which has a bound of its own.
#[tokio::test]
async fn ack_withholding() {
    const HELD: &str = "--held 2 --rate 20 --seconds 2";
    for protocol in [Protocol::H2, Protocol::H3] {
        let over = protocol.name();
        let mut both = Both::start("ack-withholding", protocol, &[], &["unbounded-sending"]);
        let (sound, weak) =
            both.attacked(&format!("slow --protocol {over} --variant ack-withholding {HELD}")).await;
        assert_eq!((number(&sound, "held_max"), number(&weak, "held_max")), (2, 2), "{over}: {sound} {weak}");
        assert_eq!(both.numbers("requests_answered"), [0, 2], "{over}");
    }
}

#[tokio::test]
async fn flood_initial() {
    const STARTS: &str = "--variant initial-only --sources 16 --rate 50 --seconds 1 --hold-ms 2000";
    let options = ["--handshake-timeout-ms", "300"];
    for protocol in Protocol::ALL {
        let over = protocol.name();
        let mut both = Both::start("flood-initial", protocol, &options, &["no-handshake-timeout"]);
        let (sent, _) = both.attacked(&format!("flood --protocol {over} {STARTS}")).await;
        assert_eq!(number(&sent, "sent"), 50, "{over}: {sent}");
        // At most: over TCP the attacker resets what it held when it is done.
        let most = |now: &Value| number(now, "handshakes_in_flight_most");
        let now = both.sound.until_refused("handshake_timeout", 50);
        // In 300 ms come 15.
        assert!(most(&now) < 40, "{over}: {now}");
        nothing_ended(&both.weak.until("all of them", |now| most(now) == 50));
    }
}

#[tokio::test]
async fn coalesced_initials() {
    let options = ["--handshake-timeout-ms", "300"];
    let mut both = Both::start("coalesced-initials", Protocol::H3, &options, &["no-handshake-timeout"]);
    both.attacked("coalesced-initials --packets 3 --rate 100 --seconds 0.2").await;
    both.sound.until_refused("handshake_timeout", 20);
    tokio::time::sleep(LONG).await;
    nothing_ended(&both.weak.now());
    assert_eq!(both.numbers("connections_open"), [0, 20]);
}

/// The sound server ends a connection after some two hundred requests that were taken back; the weak one goes on with
/// all that come over one. Over HTTP/3 this attack has no control.
#[tokio::test]
async fn rapid_reset() {
    let mut both = Both::start("rapid-reset", Protocol::H2, &[], &["unbounded-resets"]);
    let (ended, kept) = both.attacked("rapid-reset --protocol h2 --rate 100 --seconds 1 --requests 20").await;
    assert_ne!(ended["connections_ended"], json!({}), "{ended}");
    assert_eq!(kept["connections_ended"], json!({}), "{kept}");
    let weak = both.weak.until("most requests", |now| number(now, "requests") > 1000);
    assert_eq!(number(&weak, "handshakes_completed"), 1, "{weak}");
    let sound = both.sound.now();
    let (requests, connections) = (number(&sound, "requests"), number(&sound, "handshakes_completed"));
    assert!(requests < 500 * connections, "{sound}");
}

/// What is read is far more than a head may be: over HTTP/2 2 MB, over HTTP/3 200 kB.
#[tokio::test]
async fn header_expansion() {
    for (protocol, fields) in [(Protocol::H2, 500), (Protocol::H3, 3000)] {
        let over = protocol.name();
        let mut both = Both::start("header-expansion", protocol, &[], &["unbounded-headers"]);
        let words = format!("header-expansion --protocol {over} --fields {fields} --rate 20 --seconds 0.5");
        let (sent, _) = both.attacked(&words).await;
        assert!(number(&sent, "sent") > 0, "{over}: {sent}");
        both.weak.until("a request", |now| number(now, "requests") > 0);
        assert_eq!(number(&both.sound.now(), "requests"), 0, "{over}");
    }
}

#[tokio::test]
async fn long_settings() {
    let mut both = Both::start("long-settings", Protocol::H3, &[], &["unbounded-control"]);
    let before = both.numbers("heap_bytes");
    let (ended, kept) = both.attacked("long-settings --rate 2000 --seconds 1").await;
    assert_ne!(ended["connections_ended"], json!({}), "{ended}");
    assert_eq!(kept["connections_ended"], json!({}), "{kept}");
    let peak = both.numbers("heap_peak_bytes");
    assert!(peak[0] - before[0] < 1 << 20, "{} octets", peak[0] - before[0]);
    assert!(peak[1] - before[1] > 1 << 20, "{} octets: {kept}", peak[1] - before[1]);
}

#[tokio::test]
async fn amplification() {
    let both = Both::start("amplification", Protocol::H3, &[], &["repeats-datagrams"]);
    let (bounded, free) = both.attacked("amplification --rate 20 --seconds 0.5 --listen-ms 1500").await;
    let factor = |done: &Value| done["factor_median"].as_f64().expect("a number");
    // Three times, and as quinn counts them a datagram more.
    assert!(factor(&bounded) < 4.0, "{bounded}");
    assert!(factor(&free) > 4.0, "{free}");
}

//! Every bound in one place: the server's, those of the command line and those that nobody sets, and the client's window.
//!
//! A bound means the same for all three protocols as far as their libraries let it; the table in the crate's docs says
//! where they do not.

use std::str::FromStr;
use std::time::Duration;

use serde::Serialize;

use crate::Refusal;

/// What may arrive on a connection of the client, and on each of its streams, before it is read. HTTP/1.1 has the
/// kernel's windows and no others.
pub const CLIENT_WINDOW_OCTETS: u32 = 1 << 20;

/// When a client has to show that it receives what is sent to its address (RFC 9000, section 8.1.2). For TCP the
/// kernel's SYN cookies stand in its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// Never.
    Off,
    /// Each time.
    Always,
    /// While more than so many handshakes are in flight.
    Above(usize),
}

impl Retry {
    /// Whether a client whose address is not validated is sent a Retry packet.
    pub fn applies(self, handshakes_in_flight: usize) -> bool {
        match self {
            Self::Off => false,
            Self::Always => true,
            Self::Above(bound) => handshakes_in_flight > bound,
        }
    }
}

impl FromStr for Retry {
    type Err = Refusal;

    fn from_str(word: &str) -> Result<Self, Refusal> {
        let above = || word.strip_prefix("above=")?.parse().ok();
        match word {
            "off" => Ok(Self::Off),
            "always" => Ok(Self::Always),
            _ => above().map(Self::Above).ok_or_else(|| {
                Refusal::new(format!("`{word}` is no rule for Retry: give off, always or above=N"))
            }),
        }
    }
}

/// The bounds. A time-out that is `None` never ends anything; only a weakness sets one to that.
#[derive(Debug, Clone)]
pub struct Limits {
    /// When clients are sent a Retry packet.
    pub retry: Retry,
    /// Handshakes that have begun and are not over, of all clients.
    pub handshakes_in_flight: usize,
    /// Connections that are open, those in their handshake too.
    pub connections: usize,
    /// Requests of a connection that may be open at a time. HTTP/1.1 has one.
    pub streams: u32,
    /// From the first packet, or from the accepted connection, to the end of the handshake.
    pub handshake_timeout: Option<Duration>,
    /// From the end of the handshake to the end of the first request's head; over HTTP/3, from the first octets of any
    /// request to the end of its head.
    pub header_timeout: Option<Duration>,
    /// From the end of a request's head to the end of its body.
    pub body_timeout: Option<Duration>,
    /// Without a request that begins, a piece of a body that comes, or one of an answer that the connection takes.
    pub idle_timeout: Option<Duration>,

    /// The head of a request, its names and values without compression.
    pub header_octets: u32,
    /// The body of a request that brings one (POST), which is kept until it is whole.
    pub body_octets: u64,
    /// Requests of a connection that its client gave up before the answer was handed over.
    pub cancelled_requests: u64,
    /// Requests of an HTTP/2 connection that were reset before the server looked at them.
    pub pending_resets: usize,
    /// What comes on one of HTTP/3's own streams (control, QPACK).
    pub control_octets: u64,
    /// Streams of HTTP/3's own that a client may open. Three are needed (RFC 9114, section 6.2).
    pub control_streams: u32,
    /// What an answer may have waiting to be sent or acknowledged: of a connection, over s2n-quic of a stream.
    pub send_octets: u32,
    /// What may arrive on a connection before the server reads it.
    pub receive_octets: u32,
    /// Octets of a QUIC handshake that came out of order. s2n-quic has a bound of its own.
    pub crypto_octets: usize,
    /// QUIC connections that were asked for and not looked at. Over s2n-quic there are none, nor the two that follow.
    pub incoming: usize,
    /// What each of them may have sent meanwhile.
    pub incoming_octets: u64,
    /// What all of them may have sent meanwhile.
    pub incoming_total_octets: u64,
    /// TCP connections that the kernel has accepted and the server has not.
    pub backlog: u32,
    /// What may wait in the one UDP socket, as far as the kernel grants it (`net.core.rmem_max`).
    pub datagrams_octets: usize,
    /// Sessions that can be resumed.
    pub sessions: usize,
    /// What a client may send before the handshake is over, over TCP. QUIC allows no other value than its windows
    /// (RFC 9001, section 4.6.1).
    pub early_octets: u32,
    /// How often each datagram is sent.
    #[cfg(feature = "weak")]
    pub copies: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            retry: Retry::Off,
            handshakes_in_flight: 1000,
            connections: 10_000,
            streams: 100,
            handshake_timeout: Some(Duration::from_secs(10)),
            header_timeout: Some(Duration::from_secs(10)),
            body_timeout: Some(Duration::from_secs(10)),
            idle_timeout: Some(Duration::from_secs(30)),
            header_octets: 16 << 10,
            body_octets: 16 << 10,
            cancelled_requests: 200,
            pending_resets: 20,
            control_octets: 64 << 10,
            control_streams: 8,
            send_octets: 128 << 10,
            receive_octets: 64 << 10,
            crypto_octets: 16 << 10,
            incoming: 1024,
            incoming_octets: 16 << 10,
            incoming_total_octets: 4 << 20,
            backlog: 1024,
            datagrams_octets: 4 << 20,
            sessions: 10_000,
            early_octets: 16 << 10,
            #[cfg(feature = "weak")]
            copies: 1,
        }
    }
}

impl Limits {
    /// When QUIC itself takes a silent connection for dead: later than every time-out of the server, which counts what
    /// it ends.
    pub fn quic_idle_timeout(&self) -> Option<Duration> {
        let times = [self.handshake_timeout?, self.header_timeout?, self.body_timeout?, self.idle_timeout?];
        let longest = times.into_iter().max()?;
        Some(longest + Duration::from_secs(1))
    }

    /// What a client may send on the stream of an HTTP/3 request: its head, its body, and what frames them.
    pub fn request_octets(&self) -> u64 {
        const FRAMES_OCTETS: u64 = 64;
        self.body_octets.saturating_add(u64::from(self.header_octets)).saturating_add(FRAMES_OCTETS)
    }
}

/// What the server ended or turned away a connection for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// As many connections as may be.
    Connections,
    /// As many handshakes as may be.
    HandshakesInFlight,
    /// The handshake took too long.
    HandshakeTimeout,
    /// The head of a request took too long.
    HeaderTimeout,
    /// The body of a request took too long.
    BodyTimeout,
    /// Nothing went on.
    IdleTimeout,
    /// Too many requests were given up.
    CancelledRequests,
}

impl Limit {
    /// All of them, in their order.
    pub const ALL: [Self; 7] = [
        Self::Connections,
        Self::HandshakesInFlight,
        Self::HandshakeTimeout,
        Self::HeaderTimeout,
        Self::BodyTimeout,
        Self::IdleTimeout,
        Self::CancelledRequests,
    ];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rule_for_retry_is_read_and_applied() {
        let rule = |word: &str| word.parse::<Retry>();
        assert_eq!(rule("off").expect("a rule"), Retry::Off);
        assert_eq!(rule("always").expect("a rule"), Retry::Always);
        let above = rule("above=3").expect("a rule");
        assert_eq!([2, 3, 4].map(|in_flight| above.applies(in_flight)), [false, false, true]);
        assert!(Retry::Always.applies(0) && !Retry::Off.applies(usize::MAX));
        for wrong in ["", "on", "above", "above=", "above=-1"] {
            let refusal = rule(wrong).expect_err("no rule");
            assert!(refusal.to_string().contains("above=N"), "{refusal}");
        }
    }

    #[test]
    fn quic_outlives_every_timeout_of_the_server() {
        let limits = Limits::default();
        let quic = limits.quic_idle_timeout().expect("all time-outs are set");
        for own in [limits.handshake_timeout, limits.header_timeout, limits.body_timeout, limits.idle_timeout]
        {
            assert!(quic > own.expect("it is set"));
        }
        assert_eq!(Limits { idle_timeout: None, ..limits }.quic_idle_timeout(), None);
    }

    #[test]
    fn the_list_of_limits_is_in_their_order() {
        assert!(Limit::ALL.iter().enumerate().all(|(index, limit)| *limit as usize == index));
    }
}

//! Load that a server of one's own has to stand: floods, slow connections and frames that cost the server more than
//! their sender, over HTTP/1.1, HTTP/2 and HTTP/3, for measurements on one machine.
//!
//! Everything here stays on the loopback interface. [`guard::Loopback`] is the only way to an address, it takes
//! 127.0.0.0/8 and `::1` alone, and no option widens it. Rates, counts and times are capped ([`caps`]). What is sent is
//! behaviour that the standards describe; nothing is malformed to break a parser.
//!
//! All attackers are open-loop: a start happens at its time, whether or not earlier ones are done ([`pacing`]). Each run
//! is logged by the second, and says at its end whether the attacker itself was the bottleneck ([`tally`]): then its
//! numbers say nothing about the server.
//!
//! | part | subject |
//! |---|---|
//! | [`attacks`] | the kinds, a file each |
//! | [`guard`], [`caps`], [`sources`] | what may be attacked, how much, from which addresses |
//! | [`pacing`], [`tally`], [`outcome`], [`clock`] | when starts happen, and what came of them |
//! | [`tls`], [`tcp`], [`http`] | TLS over TCP, and the least of HTTP that is needed |
//! | [`quic_wire`], [`quic`] | QUIC's packets and frames, and a client of our own on them |

#![forbid(unsafe_code)]

pub mod attacks;
pub mod caps;
pub mod clock;
pub mod context;
pub mod guard;
pub mod http;
pub mod outcome;
pub mod pacing;
pub mod quic;
pub mod quic_wire;
pub mod sources;
pub mod tally;
pub mod tcp;
pub mod tls;

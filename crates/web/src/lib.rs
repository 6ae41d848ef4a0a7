//! A web server and a web client that are the same program over TCP and over QUIC, for experiments about attacks.
//!
//! Whoever compares "QUIC" with "TCP" under attack easily compares two servers, two clients and two cryptographic
//! libraries. Here one binary serves HTTP/1.1, HTTP/2 and HTTP/3, one after the choice of its user, with the same TLS
//! library, the same limits and the same counters, and one binary asks. Both keep to loopback; there is no switch.
//!
//! ```sh
//! gauntlet-web-certificate p-256 --folder tls
//! gauntlet-web-server --protocol h3 --listen 127.0.0.1:4433 --certificate tls/server.pem --key tls/server.key
//! gauntlet-web-client --protocol h3 --connect 127.0.0.1:4433 --ca tls/ca.pem --count 50 --interval-ms 1000
//! ```
//!
//! # What is the same
//!
//! | | |
//! |---|---|
//! | TLS | rustls with ring: TLS 1.3, AES-128-GCM, X25519, the same certificate; tickets and early data by the same store |
//! | answers | the same octets ([`site`]) with the same header fields: a type and a length, no date; to a POST when its body is whole |
//! | requests | the same header fields; one a connection unless more are asked for; the client closes when it has its answer |
//! | limits | one set ([`limits`]), with one watch over HTTP, whatever carries it: handshakes in flight, connections, time for the handshake, for a head, for a body, without progress, requests that were given up |
//! | buffers | an answer has at most 128 KiB waiting; a server takes 64 KiB before it reads; a client's windows are 1 MiB in HTTP/2 and QUIC |
//! | congestion control | CUBIC, where the kernel allows it (the first line says so) |
//! | process | one thread, one tokio runtime, one listener, one counting allocator |
//!
//! # What differs, because the protocols do
//!
//! | | TCP | QUIC (by quinn) |
//! |---|---|---|
//! | validation of addresses | the kernel's handshake, its SYN cookies | Retry (`--retry`) |
//! | a connection too many | the kernel has already accepted it: it is reset | CONNECTION_REFUSED |
//! | a port where nobody listens | refused | silence until the time-out: quinn's sockets are not connected |
//! | what waits to be acknowledged | in the kernel, another 128 KiB beside what waits in the program; invisible to the heap's counter | in the program, 128 KiB in all |
//! | a connection that was idle for too long | reset: the kernel keeps nothing of what its client has not taken | CONNECTION_CLOSE |
//! | what waits to be looked at | connections in the kernel's queue (1024), each with buffers of its own | datagrams in one socket (4 MiB as far as `net.core.rmem_max` grants it), 1024 connections in the program |
//! | half-open connections | in the kernel before the server knows of them | in the server from the first packet it accepts |
//! | early data | answered when the handshake is over: rustls keeps it until then | answered at once |
//! | octets counted | TLS records, without TCP's and IP's headers, acknowledgements and retransmissions | whole UDP datagrams without UDP's and IP's headers: acknowledgements, retransmissions and padding too |
//! | before the address is validated | the kernel answers with one packet | three times what came, of which both libraries let the last datagram be whole: less than four times |
//! | limit of the head's size | hyper answers 431 | h3 answers 431; a stream that carries more than head and body may ends the connection |
//! | HTTP/1.1 | one request at a time | |
//!
//! The size of a client's window over HTTP/1.1 is the kernel's (`net.ipv4.tcp_rmem`).
//!
//! # Two libraries of QUIC
//!
//! `--quic-library s2n-quic` puts s2n-quic in the place of quinn: the same h3, site, certificate and cipher suite, and
//! limits and counters as far as the library lets them. The client's is always quinn. What differs:
//!
//! | | quinn | s2n-quic |
//! |---|---|---|
//! | cryptography | ring | ring; AWS-LC for Initial packets and Retry |
//! | tickets, early data | two tickets unless `--tickets` says otherwise | neither: `--tickets` and `--early-data` are refused |
//! | weaknesses | each bound can be taken away | refused |
//! | a connection too many | CONNECTION_REFUSED | the same; after a Retry silence, and the token is used up: the library does not ask again |
//! | a token of a Retry | good for 15 s, any number of times; a bad one is INVALID_TOKEN or none | good for one to two seconds, once; silence to a bad one |
//! | after a Retry | the address is validated | three for one until a packet of the handshake comes |
//! | a first packet in a short datagram | dropped | as any other: begun and failed, or sent a Retry |
//! | a first flight that TLS refuses | CONNECTION_CLOSE with the alert | silence, and each repetition is begun and failed |
//! | alerts, reasons of a close | as they are | HANDSHAKE_FAILURE for all, no reasons |
//! | stateless resets | sent | none |
//! | a handshake that took too long | CONNECTION_CLOSE | silence |
//! | what an answer may have waiting | 128 KiB of a connection | 128 KiB of each stream |
//! | handshake data out of order | 16 KiB ([`limits`]) | 128 KiB, in the library; what comes after the handshake is thrown away |
//! | connections that are not looked at yet | 1024, with 16 KiB each and 4 MiB in all | none wait: each first packet is handled when it comes |
//! | datagrams that wait in the program | a batch | rings of 128 datagrams or batches to receive (8 MiB) and 8 to send (120 kB), on the heap from the beginning |
//! | empty datagrams | counted | not counted |
//! | octets out | when the kernel took them | when the library's ring took them |
//!
//! Both have CUBIC, begin with datagrams of 1,200 octets and search for longer ones, up to 1,452 (quinn) and 1,472
//! (s2n-quic). A connection of s2n-quic is handed to the server when its handshake is over; quinn's is from the
//! beginning.
//!
//! # Why their own sockets and tokio
//!
//! Elsewhere in this workspace both protocol cores run under a driver of ours, so that their time can be virtual. What
//! attacks cost is measured in real time, and nobody deploys that driver: the question is about a server as people run
//! it. So the sockets are the libraries', with segmentation offload and batches, and the runtime is the one that hyper
//! has.
//!
//! # Weaknesses
//!
//! With the cargo feature `weak` the server takes `--weakness NAME`, which takes one of its bounds away: a control for
//! each attack that has to break it (module `weakness`). What cannot be taken away is in the libraries: that a QUIC
//! server remembers few connection IDs of its client, answers few path challenges at a time, and ends a connection whose
//! client acknowledges what was not sent.

#![deny(unsafe_code)]

pub mod certificates;
pub mod client;
pub mod clock;
pub mod counters;
pub mod heap;
pub mod limits;
pub mod lines;
mod loopback;
pub mod protocol;
pub mod quic_library;
mod refusal;
pub mod server;
pub mod site;
pub mod tls;
mod versions;
#[cfg(feature = "weak")]
pub mod weakness;

pub use loopback::only_loopback;
pub use refusal::Refusal;

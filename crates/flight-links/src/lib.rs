//! Securities of a command link that begin with a handshake, behind the trait of the crate `flight`: QUIC by stream and
//! by datagram, TLS over a byte stream, DTLS, and ResTP's protected profile. They own neither sockets nor clocks.
//!
//! They stand in a crate of their own because `flight` has to stay light: who wants a node, a ground tool or SDLS should
//! not compile two TLS providers, a C library and two QUIC stacks.
//!
//! | module | what is in it |
//! |---|---|
//! | [`suite`] | what can be chosen, and the sentence for what a library does not have |
//! | [`credentials`], [`credentials_file`] | a private authority with certificates of both ends, and the file that hands them on |
//! | [`tls_config`] | settings of TLS 1.3 that QUIC and TLS share |
//! | [`quic`], [`s2n`], [`tls`], [`dtls`], [`restp`] | the securities; QUIC by quinn and by s2n-quic |
//! | [`attacks`] | what each security gives, shown by attacks that fail or succeed |
//! | [`openssl`] | OpenSSL of the system under TLS, where it is compiled in |
//! | [`meter`] | time spent inside the ciphers |
//! | [`arrangement`], [`exchange`] | a security by its name, both ends at once, and what goes between them |
//! | [`single`] | one end alone, for a process of its own |

#![forbid(unsafe_code)]

pub mod arrangement;
pub mod attacks;
pub mod credentials;
pub mod credentials_file;
pub mod dtls;
pub mod exchange;
mod group_p521;
pub mod link;
pub mod meter;
mod metered_dtls;
mod metered_sdls;
mod metered_tls;
pub mod openssl;
mod packets;
pub mod quic;
pub mod restp;
pub mod s2n;
pub mod single;
pub mod suite;
pub mod tls;
pub mod tls_config;

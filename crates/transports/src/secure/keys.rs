//! The secrets of a flow's sessions as text that Wireshark reads (`SSLKEYLOGFILE`): `keys.log` of a record.

use std::fmt::Write;
use std::sync::{Mutex, PoisonError};

use rustls::KeyLog;

/// Collects the secrets of TLS and QUIC sessions, one line each: label, client random and secret in
/// hexadecimal (the format that NSS began and Wireshark reads).
#[derive(Debug, Default)]
pub struct KeyLines(Mutex<String>);

impl KeyLines {
    /// Adds what a library of its own cryptography has written in the same format.
    pub fn add(&self, lines: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push_str(lines);
    }

    /// The lines so far.
    pub fn text(&self) -> String {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl KeyLog for KeyLines {
    fn log(&self, label: &str, client_random: &[u8], secret: &[u8]) {
        let mut text = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        text.push_str(label);
        for bytes in [client_random, secret] {
            text.push(' ');
            for byte in bytes {
                // Writing into a string cannot fail.
                let _ = write!(text, "{byte:02x}");
            }
        }
        text.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_label_random_and_secret() {
        let keys = KeyLines::default();
        keys.log("CLIENT_TRAFFIC_SECRET_0", &[0x01, 0xab], &[0xff]);
        keys.log("X", &[0], &[1]);
        assert_eq!(keys.text(), "CLIENT_TRAFFIC_SECRET_0 01ab ff\nX 00 01\n");
    }
}

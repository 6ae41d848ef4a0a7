//! HTTP/1.1 (RFC 9112).

use super::Answer;
use crate::outcome::Outcome;

/// A request without a body.
#[must_use]
pub fn get(host: &str, path: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n").into_bytes()
}

/// The head of a request whose body has so many octets.
#[must_use]
pub fn post(host: &str, path: &str, octets: u64) -> Vec<u8> {
    format!("POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Length: {octets}\r\n\r\n").into_bytes()
}

/// The head of a request up to its last field, so that more can follow.
#[must_use]
pub fn unfinished(host: &str, path: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n").into_bytes()
}

/// Whether what came is a whole answer: by Content-Length, or by the last chunk.
#[must_use]
pub fn answer(came: &[u8]) -> Answer {
    let Some(head) = came.windows(4).position(|window| window == b"\r\n\r\n") else { return Answer::Pending };
    let body = came.len() - head - 4;
    let text = String::from_utf8_lossy(&came[..head]);
    let mut lines = text.split("\r\n");
    let status = lines.next().and_then(|line| line.split(' ').nth(1)).unwrap_or_default();
    if status != "200" {
        return Answer::Over(Outcome::Status);
    }
    let fields: Vec<(&str, &str)> = lines.filter_map(|line| line.split_once(':')).collect();
    let field = |wanted: &str| fields.iter().find(|(name, _)| name.eq_ignore_ascii_case(wanted));
    let whole = match (field("content-length"), field("transfer-encoding")) {
        (Some((_, length)), _) => length.trim().parse::<usize>().is_ok_and(|length| body >= length),
        (None, Some(_)) => came.ends_with(b"0\r\n\r\n"),
        (None, None) => false,
    };
    if whole { Answer::Over(Outcome::Ok) } else { Answer::Pending }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_whole_with_its_last_octet() {
        let whole = b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nabc";
        assert_eq!(answer(whole), Answer::Over(Outcome::Ok));
        for cut in 0..whole.len() {
            assert_eq!(answer(&whole[..cut]), Answer::Pending, "{cut}");
        }
    }

    #[test]
    fn chunks_end_with_an_empty_one() {
        let whole = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
        assert_eq!(answer(whole), Answer::Over(Outcome::Ok));
        assert_eq!(answer(&whole[..whole.len() - 1]), Answer::Pending);
    }

    #[test]
    fn other_statuses_fail() {
        assert_eq!(answer(b"HTTP/1.1 503 no\r\n\r\n"), Answer::Over(Outcome::Status));
    }
}

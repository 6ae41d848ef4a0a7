//! Sentences for what HTTP libraries report.

use std::error::Error;
use std::io::{self, ErrorKind};

use crate::error::Failure;
use crate::secure::tls_failure;

/// The failure of a connection over which a library reported `error` while `doing` something ("the TLS handshake").
pub(super) fn failure(doing: &str, error: &(dyn Error + 'static)) -> Failure {
    let causes = || std::iter::successors(Some(error), |error| cause(*error));
    if let Some(tls) = causes().find_map(|error| error.downcast_ref::<rustls::Error>()) {
        return tls_failure(doing, tls);
    }
    if let Some(io) = causes().find_map(|error| error.downcast_ref::<io::Error>()) {
        return Failure::broken(format!("while {doing} was under way"), io, || match io.kind() {
            ErrorKind::UnexpectedEof => closed(doing),
            _ => Failure::system(format!("{doing} failed"), io),
        });
    }
    match causes().find_map(|error| error.downcast_ref::<hyper::Error>()) {
        Some(http) if http.is_incomplete_message() || http.is_closed() || http.is_canceled() => closed(doing),
        _ => {
            let words: Vec<_> = causes().map(ToString::to_string).collect();
            Failure::new(format!("{doing} failed: {}", words.join(": ")))
        }
    }
}

/// What an error wraps: errors of input and output tell of it in a way of their own.
fn cause<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
        Some(inner) => Some(inner),
        None => error.source(),
    }
}

fn closed(doing: &str) -> Failure {
    Failure::new(format!("{doing} failed: the server closed the connection before the answer was whole"))
}

//! Bodies of requests: POST brings one. It is kept until it is whole, as by an application that takes a form, and then
//! the answer is that to a GET. What any other request brings is not read, as by servers of files.

use hyper::header::CONTENT_LENGTH;
use hyper::{HeaderMap, Method, StatusCode};

use crate::limits::Limits;

/// What came of a body; an error is the answer to its request.
pub(super) type Taken = Result<(), StatusCode>;

/// Whether a request of this method brings a body that is waited for.
pub(super) fn is_taken(method: &Method) -> bool {
    method == Method::POST
}

/// A body that comes.
pub(super) struct Coming {
    kept: Vec<u8>,
    bound: u64,
}

impl Coming {
    /// Of a request with these header fields.
    ///
    /// # Errors
    /// The answer: by what it says it is too long.
    pub(super) fn of(headers: &HeaderMap, limits: &Limits) -> Result<Self, StatusCode> {
        let said = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
        if said.is_some_and(|octets| octets > limits.body_octets) {
            return Err(StatusCode::PAYLOAD_TOO_LARGE);
        }
        Ok(Self { kept: Vec::new(), bound: limits.body_octets })
    }

    /// Another piece of it.
    ///
    /// # Errors
    /// The answer: it is too long.
    pub(super) fn take(&mut self, piece: &[u8]) -> Taken {
        if (self.kept.len() + piece.len()) as u64 > self.bound {
            return Err(StatusCode::PAYLOAD_TOO_LARGE);
        }
        self.kept.extend_from_slice(piece);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits() -> Limits {
        Limits { body_octets: 10, ..Limits::default() }
    }

    fn said(octets: u64) -> HeaderMap {
        HeaderMap::from_iter([(CONTENT_LENGTH, octets.into())])
    }

    #[test]
    fn a_body_is_as_long_as_it_may_be_by_its_head_and_by_what_comes() {
        assert!(Coming::of(&said(10), &limits()).is_ok());
        assert_eq!(Coming::of(&said(11), &limits()).err(), Some(StatusCode::PAYLOAD_TOO_LARGE));
        let mut coming = Coming::of(&HeaderMap::new(), &limits()).expect("it says nothing");
        assert_eq!((coming.take(&[0; 9]), coming.take(&[0])), (Ok(()), Ok(())));
        assert_eq!(coming.take(&[0]), Err(StatusCode::PAYLOAD_TOO_LARGE));
    }

    #[test]
    fn only_a_post_brings_one() {
        assert!(is_taken(&Method::POST));
        assert!(!is_taken(&Method::GET) && !is_taken(&Method::PUT));
    }
}

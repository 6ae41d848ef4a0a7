//! Errors: a flow that is described wrongly, and a flow that did not work out. What a program may want to tell apart is
//! a variant; each holds the sentence for people.

use std::fmt::Display;
use std::io::{self, ErrorKind};

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A flow is described wrongly. The sentence names the flow, the key and what would be right.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SpecError {
    /// There is no transport or application of this name.
    #[error("{0}")]
    Unknown(String),
    /// The transport is an option of the build, which this program was built without.
    #[error("{0}")]
    LeftOut(String),
    /// A parameter is wrong, or the application and the transport do not go together.
    #[error("{0}")]
    Wrong(String),
}

impl SpecError {
    /// What is wrong in a description whose names are known.
    pub fn new(sentence: impl Into<String>) -> Self {
        Self::Wrong(sentence.into())
    }

    /// The same error with the flow's id in front.
    pub fn in_flow(mut self, id: &str) -> Self {
        let (Self::Unknown(sentence) | Self::LeftOut(sentence) | Self::Wrong(sentence)) = &mut self;
        *sentence = format!("flow {id}: {sentence}");
        self
    }
}

/// Why a flow failed: the `reason` of its result, one sentence.
#[derive(Debug, Clone, PartialEq, Eq, Error, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Failure {
    /// The run's limit came before the flow's end.
    #[error("{0}")]
    Limit(String),
    /// Nothing listens at the other end, or it turned the session down.
    #[error("{0}")]
    Refused(String),
    /// The other end does not answer, or no longer.
    #[error("{0}")]
    TimedOut(String),
    /// The other end broke the session off.
    #[error("{0}")]
    Reset(String),
    /// What one end heard of the other's failure, which knows better why.
    #[error("{0}")]
    Echo(String),
    /// A system call failed for this kind of reason, which only the process that made the call knows: to others it is
    /// [`ErrorKind::Other`].
    #[error("{0}")]
    System(String, #[serde(skip, default = "unknown_kind")] ErrorKind),
    /// Another reason.
    #[error("{0}")]
    Other(String),
}

impl Failure {
    /// A failure that no program needs to tell from others.
    pub fn new(sentence: impl Into<String>) -> Self {
        Self::Other(sentence.into())
    }

    /// A system call failed: `what` says what was tried, the kernel says why not.
    pub fn system(what: impl Display, error: &io::Error) -> Self {
        Self::System(format!("{what}: {error}"), error.kind())
    }

    /// The other side broke the connection off `when` ("while sending").
    pub(crate) fn reset(when: impl Display) -> Self {
        Self::Reset(format!("reset: the other side broke the connection off {when}"))
    }

    /// The other side stopped answering `when`.
    pub(crate) fn timed_out(when: impl Display) -> Self {
        Self::TimedOut(format!("timed out: the other side stopped answering {when}"))
    }

    /// The failure of a session that broke `when`, by what the system says of it; `otherwise` for what says nothing.
    pub(crate) fn broken(when: impl Display, error: &io::Error, otherwise: impl FnOnce() -> Self) -> Self {
        match error.kind() {
            ErrorKind::ConnectionReset | ErrorKind::BrokenPipe | ErrorKind::ConnectionAborted => {
                Self::reset(when)
            }
            ErrorKind::TimedOut => Self::timed_out(when),
            _ => otherwise(),
        }
    }
}

fn unknown_kind() -> ErrorKind {
    ErrorKind::Other
}

/// What came of a system call, as what came of a flow.
pub trait OrFailure<T> {
    /// The same with an error that says `what` was tried ("a socket could not be set up").
    ///
    /// # Errors
    /// [`Failure::System`].
    fn or_failure(self, what: impl Display) -> Result<T, Failure>;
}

impl<T> OrFailure<T> for io::Result<T> {
    fn or_failure(self, what: impl Display) -> Result<T, Failure> {
        self.map_err(|error| Failure::system(what, &error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_broke_a_session_can_be_told_apart_and_is_a_sentence() {
        let broken = |kind: ErrorKind| {
            let failure = Failure::broken("while sending", &kind.into(), || Failure::new("another reason"));
            (failure.to_string(), failure)
        };
        for kind in [ErrorKind::ConnectionReset, ErrorKind::BrokenPipe, ErrorKind::ConnectionAborted] {
            let (sentence, failure) = broken(kind);
            assert!(matches!(failure, Failure::Reset(_)), "{failure:?}");
            assert_eq!(sentence, "reset: the other side broke the connection off while sending");
        }
        let (sentence, failure) = broken(ErrorKind::TimedOut);
        assert!(matches!(failure, Failure::TimedOut(_)), "{failure:?}");
        assert_eq!(sentence, "timed out: the other side stopped answering while sending");
        assert_eq!(broken(ErrorKind::NotFound).1, Failure::Other("another reason".to_owned()));
    }

    #[test]
    fn a_failure_keeps_its_variant_and_sentence_on_its_way_to_another_process() {
        let echo = Failure::Echo("the other end failed".to_owned());
        let system = Failure::system("opening", &ErrorKind::NotFound.into());
        let carried = |failure: &Failure| {
            let text = serde_json::to_string(failure).expect("a failure can be written");
            serde_json::from_str::<Failure>(&text).expect("and read")
        };
        assert_eq!(carried(&echo), echo);
        assert_eq!(carried(&system), Failure::System(system.to_string(), ErrorKind::Other));
    }

    #[test]
    fn a_flows_name_leaves_the_kind_of_its_mistake_as_it_is() {
        let named = SpecError::Unknown("unknown stack `x`".to_owned()).in_flow("f0");
        assert_eq!(named, SpecError::Unknown("flow f0: unknown stack `x`".to_owned()));
    }
}

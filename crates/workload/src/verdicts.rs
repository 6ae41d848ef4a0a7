//! What a receiver that judges its messages made of each: the file `safety.arrow` (`docs/formats/record.md`).

use arrow_array::builder::{BooleanBuilder, Int64Builder, StringBuilder, UInt16Builder, UInt32Builder};
use serde::{Deserialize, Serialize};

/// The event of a message to which an attacker with the sender's keys did something.
pub(crate) const THREAT: &str = "threat";
/// The events of a sender that opens a further session: the one before was over, and the further one was there.
pub(crate) const ENDED: &str = "ended";
pub(crate) const REOPENED: &str = "reopened";

/// What happened at one instant, in time of the run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judged {
    /// `message`: one arrived. `timeout`: none that is fresh did for too long. `session`: an end was told by its
    /// transport that something is wrong, of which the session may break. `limit`: the run's limit came.
    /// `threat`: an attacker with the sender's keys did something to one. `ended`: the sender gave up a session that
    /// broke. `reopened`: a further one was there.
    pub event: String,
    /// When.
    pub t_ns: i64,
    /// What the message says that it is; absent of what is no message.
    pub kind: Option<String>,
    /// The number that it bears, from 0.
    pub number: Option<u32>,
    /// Whom it names as its sender and as its receiver.
    pub from: Option<u32>,
    /// See `from`.
    pub to: Option<u32>,
    /// Its time stamp.
    pub stamp_ns: Option<i64>,
    /// Its size.
    pub size_bytes: Option<u32>,
    /// What the application made of it, or what an end was told of its session.
    pub verdict: String,
    /// Whether it is, bit for bit, what the sender sent under this number: what the judge cannot know.
    pub genuine: Option<bool>,
}

impl Judged {
    /// An event that is no message.
    pub(crate) fn event(event: &str, t_ns: i64, verdict: impl Into<String>) -> Self {
        Self { event: event.to_owned(), t_ns, verdict: verdict.into(), ..Self::default() }
    }
}

table! {
    /// Collects what the flows of one run judged.
    SafetyLog(flow: u16, judged: &Judged) {
        flow: UInt16Builder, false, Some(flow);
        event: StringBuilder, false, Some(&judged.event);
        t_ns: Int64Builder, false, Some(judged.t_ns);
        kind: StringBuilder, true, judged.kind.as_ref();
        number: UInt32Builder, true, judged.number;
        from: UInt32Builder, true, judged.from;
        to: UInt32Builder, true, judged.to;
        stamp_ns: Int64Builder, true, judged.stamp_ns;
        size_bytes: UInt32Builder, true, judged.size_bytes;
        verdict: StringBuilder, false, Some(&judged.verdict);
        genuine: BooleanBuilder, true, judged.genuine;
    }
}

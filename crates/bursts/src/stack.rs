//! Who takes part.

use std::time::Duration;

use restp_proto::Profile;
use restp_proto::profile::{Congestion, FecKind, Framing, Ordering, Reliability};

use crate::attempt::Try;
use crate::grid::Messages;
use crate::{kcp_host, quic, restp};

/// A stack as it takes part.
#[derive(Clone, Debug)]
pub struct Stack {
    /// Its name in tables.
    pub name: &'static str,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    Restp(Box<Profile>),
    Quinn(quic::Control),
    QuinnDatagrams,
    Kcp,
}

impl Stack {
    fn restp(name: &'static str, profile: Profile) -> Self {
        Self { name, kind: Kind::Restp(Box::new(profile)) }
    }

    /// Those that move files.
    #[must_use]
    pub fn for_transfers() -> Vec<Self> {
        vec![
            Self::restp("restp-file_harq", Profile::file_harq()),
            Self::restp("restp-file_arq", Profile::file_arq()),
            Self::restp("restp-no-fec", Profile { reliability: Reliability::Arq, ..Profile::file_harq() }),
            Self { name: "quinn-cubic", kind: Kind::Quinn(quic::Control::Cubic) },
            Self { name: "quinn-bbr", kind: Kind::Quinn(quic::Control::Bbr) },
            Self { name: "kcp", kind: Kind::Kcp },
        ]
    }

    /// Those that carry messages: ResTP with and without encoded packets, repeating, repairing only, and neither.
    #[must_use]
    pub fn for_messages() -> Vec<Self> {
        let voice = |reliability| Profile { reliability, ..Profile::voice() };
        let whole = |reliability| Profile {
            reliability,
            framing: Framing::Fixed,
            ordering: Ordering::Unordered,
            ..Profile::file_harq()
        };
        vec![
            Self::restp("restp-voice", Profile::voice()),
            Self::restp("restp-voice-bbr", Profile { congestion: Congestion::Bbr, ..Profile::voice() }),
            Self::restp("restp-voice-fec", voice(Reliability::Harq(FecKind::Interleaved))),
            Self::restp("restp-none", restp::without_repetition(Reliability::None)),
            Self::restp(
                "restp-fec-only",
                restp::without_repetition(Reliability::Quasi(FecKind::Interleaved)),
            ),
            Self::restp("restp-arq", whole(Reliability::Arq)),
            Self::restp("restp-harq", whole(Reliability::Harq(FecKind::Interleaved))),
            Self { name: "quinn-stream", kind: Kind::Quinn(quic::Control::Cubic) },
            Self { name: "quinn-datagrams", kind: Kind::QuinnDatagrams },
            Self { name: "kcp", kind: Kind::Kcp },
        ]
    }

    /// Seconds from `connect` to the last of `size_bytes` at the receiving application; `None` if the limit came first.
    #[must_use]
    pub fn transfer(&self, attempt: &Try, size_bytes: usize, limit: Duration) -> Option<f64> {
        match &self.kind {
            Kind::Restp(profile) => restp::transfer(profile, attempt, size_bytes, limit),
            Kind::Quinn(control) => quic::transfer(*control, attempt, size_bytes, limit),
            Kind::QuinnDatagrams => None,
            Kind::Kcp => kcp_host::transfer(attempt, size_bytes, limit),
        }
    }

    /// Seconds that each message took, in any order; those that did not arrive are infinite.
    #[must_use]
    pub fn messages(&self, attempt: &Try, flow: &Messages) -> Vec<f64> {
        let mut delays_s = match &self.kind {
            Kind::Restp(profile) => restp::messages(profile, attempt, flow),
            Kind::Quinn(control) => quic::messages(*control, false, attempt, flow),
            Kind::QuinnDatagrams => quic::messages(quic::Control::Cubic, true, attempt, flow),
            Kind::Kcp => kcp_host::messages(attempt, flow),
        };
        delays_s.resize(flow.count.max(delays_s.len()), f64::INFINITY);
        delays_s
    }
}

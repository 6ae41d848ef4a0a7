//! From what an application needs, and what is known of the link, to a profile: each service with its reason.

use std::time::Duration;

use super::{
    AckReport, AckTiming, Conflict, Congestion, Dispensable, FecKind, FlowControl, Framing, JoinHash,
    LossCause, Management, Ordering, Paths, Profile, Protection, Reliability, Scheduler, Tuning,
};

/// From this round-trip time on a repetition is felt, so that repair from encoded packets pays; a third of the delay that
/// speech bears (150 ms one way, ITU-T G.114).
const FELT_RTT: Duration = Duration::from_millis(50);
/// Packets per acknowledgement where the way back is narrow and delayed acknowledgements are not possible.
const SPARSE_ACK_EVERY: u32 = 8;

/// What may be lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Losses {
    /// Nothing: a file, a transaction.
    #[default]
    Never,
    /// What would come later than [`Requirements::useful_for`]: speech, control of a machine.
    IfLate,
    /// Anything, as the next message replaces it: a position, a temperature.
    Tolerated,
}

/// What several paths are wanted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Gain {
    /// The sum of their rates.
    Throughput,
    /// To go on when one of them fails.
    Survival,
    /// To lose no time when one of them fails or loses a packet, at the price of every path's rate.
    Continuity,
}

/// What is known of the link; the default is that nothing is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Link {
    /// Round-trip time.
    pub rtt: Option<Duration>,
    /// Packets are lost one by one to bit errors.
    pub noisy: bool,
    /// It is gone for seconds to minutes now and then.
    pub goes_away: bool,
    /// The way back has much less capacity.
    pub narrow_return: bool,
    /// Nobody else's traffic crosses it.
    pub owned: bool,
}

/// What an application needs.
///
/// ```
/// use std::time::Duration;
/// use restp_proto::profile::{Link, Losses, Requirements};
///
/// // Values that are of no use once they are 150 ms old, over a link that takes 600 ms there and back.
/// let needs = Requirements {
///     losses: Losses::IfLate,
///     messages: true,
///     useful_for: Some(Duration::from_millis(150)),
///     link: Link { rtt: Some(Duration::from_millis(600)), ..Link::default() },
///     ..Requirements::default()
/// };
/// let profile = needs.choose().expect("the needs do not exclude each other");
/// assert!(!profile.reliability.retransmits(), "a repetition would come too late");
/// assert!(profile.reasons.iter().any(|reason| reason.contains("a repetition would be late")));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Requirements {
    /// What may be lost.
    pub losses: Losses,
    /// Data must be read in the order in which they were sent.
    pub in_order: bool,
    /// Messages must arrive as they were sent, not as a stream of bytes.
    pub messages: bool,
    /// Age after which data are of no use.
    pub useful_for: Option<Duration>,
    /// The first request must not wait for a handshake.
    pub quick_start: bool,
    /// Nobody on the path may read or change anything.
    pub secret: bool,
    /// Several paths, and what for.
    pub several_paths: Option<Gain>,
    /// The link.
    pub link: Link,
}

/// A profile under construction, with the reasons so far.
struct Choice<'a> {
    needs: &'a Requirements,
    profile: Profile,
}

impl Requirements {
    /// The profile that serves these requirements best; [`Composition::explain`](super::Composition::explain) tells the
    /// reason of every choice.
    ///
    /// # Errors
    /// Requirements that exclude each other, each as a sentence that says what to change.
    // R-COMP-3
    pub fn choose(&self) -> Result<Profile, Vec<Conflict>> {
        let found = self.conflicts();
        if !found.is_empty() {
            return Err(found);
        }
        let profile = Profile { name: "chosen".into(), join_hash: JoinHash::Sha256, ..Profile::datagram() };
        let mut choice = Choice { needs: self, profile };
        if self.needs_nothing() {
            choice.because(
                "connectionless: nothing that was asked for needs state; keep the rate low yourself, \
                            as there is no congestion control",
            );
            choice.check_errors();
            return Ok(choice.profile);
        }
        choice.begin();
        choice.recover();
        choice.frame();
        choice.share();
        choice.acknowledge();
        choice.interpret();
        choice.check_errors();
        choice.profile.clone().validate()?;
        Ok(choice.profile)
    }

    fn conflicts(&self) -> Vec<Conflict> {
        let checks = [
            (
                self.secret && self.quick_start,
                "Data of the first packet leave before keys exist: give up the quick start or the secrecy.",
            ),
            (
                self.losses == Losses::IfLate && self.useful_for.is_none(),
                "Losses of late data need a time from which data are late: set useful_for.",
            ),
            (
                self.losses == Losses::Never && self.useful_for.is_some(),
                "Data that must all arrive cannot have a time from which they are of no use: allow losses of late \
                 data, or drop useful_for.",
            ),
        ];
        checks.into_iter().filter(|(wrong, _)| *wrong).map(|(_, reason)| Conflict::new(reason)).collect()
    }

    /// Messages that stand alone.
    fn needs_nothing(&self) -> bool {
        self.losses == Losses::Tolerated
            && !self.in_order
            && !self.secret
            && !self.link.noisy
            && self.several_paths.is_none()
    }
}

impl Choice<'_> {
    fn because(&mut self, reason: &str) {
        self.profile.reasons.push(reason.into());
    }

    fn begin(&mut self) {
        self.profile.flow_control = FlowControl::Window;
        if self.needs.quick_start {
            self.profile.management = Management::Opportunistic;
            self.because("opportunistic handshake: the first request must not wait");
        } else {
            self.profile.management = Management::ThreeWay;
            self.because("three-way handshake: nothing calls for data before it");
        }
        if self.needs.secret {
            self.profile.protection = Protection::Protected;
            self.because("protection: nobody on the path may read or change anything");
        }
    }

    fn recover(&mut self) {
        let link = self.needs.link;
        let noisy = link.noisy;
        let felt = link.rtt.is_none_or(|rtt| rtt >= FELT_RTT);
        match self.needs.losses {
            Losses::Never if noisy && felt => {
                self.profile.reliability = Reliability::Harq(FecKind::Xor);
                self.because("HARQ: nothing may be lost, and repairing single losses saves the round trip");
            }
            Losses::Never => {
                self.profile.reliability = Reliability::Arq;
                self.because("ARQ: nothing may be lost");
            }
            Losses::IfLate if self.repetition_is_in_time() => {
                self.profile.reliability = Reliability::Arq;
                self.because("ARQ: what can still be in time is repeated");
            }
            Losses::IfLate => {
                self.profile.reliability = Reliability::Quasi(FecKind::Xor);
                self.because("quasi reliable: a repetition would be late, so only encoded packets help");
            }
            Losses::Tolerated if noisy => {
                self.profile.reliability = Reliability::Quasi(FecKind::Xor);
                self.because("quasi reliable: losses are borne, but repairing single ones costs little");
            }
            Losses::Tolerated => self.because("unreliable: losses are borne"),
        }
        let retransmits = self.profile.reliability.retransmits();
        self.profile.ordering = match (self.needs.losses, self.needs.in_order) {
            (Losses::Never, true) => Ordering::Full,
            (Losses::IfLate, _) if retransmits => Ordering::Partial,
            (_, true) => Ordering::Partial,
            (_, false) => Ordering::Unordered,
        };
        if self.profile.ordering == Ordering::Partial {
            // What the receiver waits for a hole is what is left of the time after the way there.
            let way = link.rtt.unwrap_or_default() / 2;
            self.profile.tuning.hold = self.needs.useful_for.unwrap_or_default().saturating_sub(way);
            self.because("partial order: a hole is passed over when waiting longer is of no use");
        }
    }

    /// A repetition arrives one and a half round trips after the original left, and half of one more passes before the
    /// loss is known.
    fn repetition_is_in_time(&self) -> bool {
        match (self.needs.useful_for, self.needs.link.rtt) {
            (Some(useful_for), Some(rtt)) => useful_for >= rtt * 2,
            _ => true,
        }
    }

    fn frame(&mut self) {
        let stream = self.profile.ordering == Ordering::Full && self.profile.reliability.retransmits();
        if stream && !self.needs.messages {
            self.profile.framing = Framing::Coalesce;
            self.profile.tuning = Tuning {
                receive_window_packets: Profile::file_arq().tuning.receive_window_packets,
                send_buffer_packets: Profile::file_arq().tuning.send_buffer_packets,
                ..self.profile.tuning.clone()
            };
            self.because("coalescing framing: boundaries do not matter, and full packets cost least");
        } else if self.needs.messages {
            self.because("fixed framing: messages keep their boundaries");
        } else {
            self.because("fixed framing: what may be missing or displaced needs boundaries");
        }
    }

    fn share(&mut self) {
        match self.needs.several_paths {
            None if self.needs.link.noisy => {
                self.profile.congestion = Congestion::Bbr;
                self.because("BBR: one path, of whose losses few tell of a full queue");
            }
            None => {
                self.profile.congestion = Congestion::Cubic;
                self.because("CUBIC: one path, shared with others");
            }
            Some(Gain::Throughput) => {
                self.profile.paths = Paths::Spreading(Scheduler::FastestRtt);
                self.profile.congestion = Congestion::Lia;
                self.because("spreading with linked windows (LIA): the rates of several paths add up");
            }
            Some(Gain::Survival) => {
                self.profile.paths = Paths::HotStandby;
                self.profile.congestion = Congestion::Cubic;
                self.because("hot standby with CUBIC: another path takes over when one fails");
            }
            Some(Gain::Continuity) => {
                self.profile.paths = Paths::Copies;
                self.profile.congestion = Congestion::NewReno;
                self.because("copies with a NewReno window a path: what one loses another brings at once");
            }
        }
        let fec = self.profile.reliability.retransmits();
        self.profile.dispensable = Dispensable { several_paths: true, ack_report: true, fec };
    }

    fn acknowledge(&mut self) {
        self.profile.ack_timing = AckTiming::Positive;
        if self.needs.link.narrow_return && self.profile.ordering == Ordering::Partial {
            self.profile.tuning.ack_every = SPARSE_ACK_EVERY;
            self.because(
                "few acknowledgements: the way back is narrow, and skipped holes must be told at once",
            );
        } else if self.needs.link.narrow_return {
            self.profile.ack_timing = AckTiming::Delayed;
            self.because("delayed acknowledgements: the way back is narrow");
        }
        if self.profile.reliability.retransmits() {
            let many = self.needs.link.noisy || self.needs.link.goes_away;
            self.profile.ack_report = if many { AckReport::Snack } else { AckReport::Sack };
            self.because(if many {
                "SNACK: many scattered holes fit into one report"
            } else {
                "SACK: what arrived behind a hole is not sent again"
            });
        }
    }

    fn interpret(&mut self) {
        let link = self.needs.link;
        let retransmits = self.profile.reliability.retransmits();
        let (cause, reason) = match (link.noisy, link.goes_away && retransmits) {
            (true, true) => (LossCause::Dynamic, "losses have several causes, which evidence tells apart"),
            (true, false) if link.owned => (
                LossCause::Corruption,
                "a loss is a bit error, and nobody else is there to be slowed down for",
            ),
            (true, false) => (LossCause::Dynamic, "bit errors must be told from the congestion of others"),
            (false, true) => (LossCause::Outage, "the link goes away: state is frozen until it is back"),
            (false, false) => (LossCause::Congestion, "nothing speaks for another cause than congestion"),
        };
        self.profile.loss_cause = cause;
        self.profile.i_own_the_path = link.owned;
        self.because(&format!("meaning of a loss: {reason}"));
    }

    fn check_errors(&mut self) {
        self.profile.crc = !self.needs.secret || self.needs.link.noisy;
        self.because(if self.profile.crc {
            "CRC: corrupt data are not delivered, and say that the link is noisy"
        } else {
            "no CRC: the AEAD finds every change"
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> impl Iterator<Item = Requirements> {
        (0..3 * 4 * 512_u32).map(|code| {
            let bit = |place: u32| (code / 12) >> place & 1 == 1;
            let losses = [Losses::Never, Losses::IfLate, Losses::Tolerated][(code % 3) as usize];
            Requirements {
                losses,
                several_paths: [None, Some(Gain::Throughput), Some(Gain::Survival), Some(Gain::Continuity)]
                    [(code / 3 % 4) as usize],
                in_order: bit(0),
                messages: bit(1),
                useful_for: (losses == Losses::IfLate).then_some(Duration::from_millis(150)),
                quick_start: bit(2),
                secret: bit(3),
                link: Link {
                    rtt: bit(4).then_some(Duration::from_millis(600)),
                    noisy: bit(5),
                    goes_away: bit(6),
                    narrow_return: bit(7),
                    owned: bit(8),
                },
            }
        })
    }

    // R-COMP-3
    #[test]
    fn whatever_does_not_contradict_itself_is_served_and_every_promise_kept() {
        for needs in all() {
            let contradicts = needs.secret && (needs.quick_start || !cfg!(feature = "protected"));
            let profile = match needs.choose() {
                Ok(profile) => profile,
                Err(conflicts) => {
                    assert!(contradicts, "{needs:?}: {conflicts:?}");
                    continue;
                }
            };
            assert!(!contradicts, "{needs:?}");
            let ordered = profile.ordering != Ordering::Unordered;
            assert!(ordered || !needs.in_order, "{needs:?}");
            assert!(profile.reliability.retransmits() || needs.losses != Losses::Never, "{needs:?}");
            assert!(!needs.messages || profile.framing == Framing::Fixed, "{needs:?}");
            assert_eq!(profile.protection == Protection::Protected, needs.secret, "{needs:?}");
            assert_eq!(profile.paths == Paths::Single, needs.several_paths.is_none(), "{needs:?}");
            let copies = needs.several_paths == Some(Gain::Continuity);
            assert_eq!(profile.paths == Paths::Copies, copies, "{needs:?}");
            assert!(
                profile.management == Management::Opportunistic
                    || !needs.quick_start
                    || needs.needs_nothing()
            );
            let text = profile.validate().expect("it was checked").explain();
            assert!(text.contains("Chosen because"), "{text}");
        }
    }

    #[test]
    fn a_deadline_decides_between_repetition_and_encoded_packets() {
        let speech = |rtt_ms| Requirements {
            losses: Losses::IfLate,
            in_order: true,
            messages: true,
            useful_for: Some(Duration::from_millis(150)),
            link: Link { rtt: Some(Duration::from_millis(rtt_ms)), ..Link::default() },
            ..Requirements::default()
        };
        let near = speech(40).choose().unwrap();
        assert_eq!((near.reliability, near.ordering), (Reliability::Arq, Ordering::Partial));
        assert_eq!(near.tuning.hold, Duration::from_millis(130));
        assert_eq!(speech(600).choose().unwrap().reliability, Reliability::Quasi(FecKind::Xor));
    }

    #[test]
    fn one_path_that_loses_by_itself_is_sent_over_by_bbr() {
        let over = |noisy| {
            let needs = Requirements { link: Link { noisy, ..Link::default() }, ..Requirements::default() };
            needs.choose().unwrap().congestion
        };
        assert_eq!((over(true), over(false)), (Congestion::Bbr, Congestion::Cubic));
    }

    #[test]
    fn contradictions_are_told_in_sentences() {
        let all = Requirements {
            useful_for: Some(Duration::from_secs(1)),
            quick_start: true,
            secret: true,
            ..Requirements::default()
        };
        let conflicts = all.choose().unwrap_err();
        assert_eq!(conflicts.len(), 2);
        assert!(conflicts.iter().all(|conflict| conflict.to_string().ends_with('.')));
        let undated = Requirements { losses: Losses::IfLate, ..Requirements::default() };
        assert!(undated.choose().unwrap_err()[0].to_string().contains("set useful_for"));
    }
}

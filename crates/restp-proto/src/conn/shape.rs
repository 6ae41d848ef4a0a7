//! Composition and header bits: what a profile looks like on the wire, and what a peer's header asks for.

use crate::profile::{
    AckReport, AckTiming, Composition, Congestion, FecKind, FlowControl, Framing, LossCause, Management,
    Ordering, Paths, Profile, Protection, Reliability, Scheduler,
};
use crate::wire::{self, Cong, ErrorBits, Fec, Flags, Flow, Header, Order, Packet, PathMode, Version};

/// The parts of a header that all packets of a connection share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub header: Header,
    pub window: bool,
    /// What [`Packet::frozen_bits`] must give for every packet (answer A15).
    pub frozen: u32,
}

fn cong(congestion: Congestion) -> Cong {
    match congestion {
        Congestion::None => Cong::NONE,
        Congestion::NewReno => Cong::NEW_RENO,
        Congestion::Bic => Cong::BIC,
        Congestion::Cubic => Cong::CUBIC,
        Congestion::Bbr => Cong::BBR,
        Congestion::Lia => Cong::LIA,
    }
}

/// Code point of a FEC kind.
pub(crate) fn fec_code(kind: FecKind) -> u8 {
    match kind {
        FecKind::Xor => Fec::BASIC_XOR,
        FecKind::Interleaved => Fec::INTERLEAVED_XOR,
    }
}

/// FEC kind of a code point.
pub(crate) fn fec_kind(code: u8) -> Option<FecKind> {
    match code {
        Fec::BASIC_XOR => Some(FecKind::Xor),
        Fec::INTERLEAVED_XOR => Some(FecKind::Interleaved),
        _ => None,
    }
}

/// The NAK and SAK bits that announce a report (answer B6).
pub(crate) fn report_bits(report: AckReport) -> ErrorBits {
    match report {
        AckReport::Cumulative => ErrorBits::empty(),
        AckReport::Nack => ErrorBits::NAK,
        AckReport::Sack => ErrorBits::SAK,
        AckReport::Snack => ErrorBits::NAK | ErrorBits::SAK,
    }
}

impl Shape {
    /// The header template of `composition` between two ports.
    pub fn new(composition: &Composition, source_port: u16, destination_port: u16) -> Self {
        let p = composition.profile();
        let mut error = report_bits(p.ack_report);
        error.set(ErrorBits::ARQ, p.reliability.retransmits());
        error.set(ErrorBits::FEC, p.reliability.fec().is_some());
        error.set(ErrorBits::CRC, p.crc);
        error.set(ErrorBits::DEL, p.ack_timing == AckTiming::Delayed);
        let (path_mode, scheduler) = match p.paths {
            Paths::Single => (PathMode::Single, wire::Scheduler::Unset),
            Paths::HotStandby | Paths::Overflow => (PathMode::HotStandby, wire::Scheduler::Unset),
            Paths::Spreading(Scheduler::RoundRobin) => (PathMode::Spreading, wire::Scheduler::RoundRobin),
            Paths::Spreading(Scheduler::FastestRtt) => (PathMode::Spreading, wire::Scheduler::LowestRtt),
            // R-MP-14
            Paths::Copies => (PathMode::Spreading, wire::Scheduler::Both),
        };
        let header = Header {
            version: match p.protection {
                Protection::ClearText => Version::Clear,
                Protection::Protected => Version::Protected,
            },
            order: match p.ordering {
                Ordering::Unordered => Order::None,
                Ordering::Partial => Order::Partial,
                Ordering::Full => Order::Full,
                Ordering::Streams => Order::Streams,
            },
            flow: match p.management {
                Management::Connectionless => Flow::empty(),
                Management::ThreeWay => Flow::CON,
                Management::Opportunistic => Flow::OPT,
            },
            error,
            path_mode,
            scheduler,
            cong: cong(p.congestion),
            k: 1,
            source_port,
            destination_port,
            ..Header::default()
        };
        let window = p.flow_control == FlowControl::Window;
        let mut shape = Self { header, window, frozen: 0 };
        shape.frozen = Packet { window: window.then_some(0), ..Packet::new(header) }.frozen_bits();
        shape
    }
}

/// The composition that a peer's packet asks for, with everything that does not show on the wire taken from `own`.
///
/// Services that `own` lacks although it could refuse them (several paths, reports, FEC) are left out: the answer
/// offers the rest (answer D1). `None` if the rest does not go together.
// R-CM-3, R-FEC-8, R-MP-1
pub(crate) fn requested(packet: &Packet<'_>, own: &Composition, exact: bool) -> Option<Composition> {
    own.with(requested_profile(packet, own.profile(), exact)?)
}

fn requested_profile(packet: &Packet<'_>, own: &Profile, exact: bool) -> Option<Profile> {
    let header = &packet.header;
    let management = if header.flow.contains(Flow::CON) {
        Management::ThreeWay
    } else if header.flow.contains(Flow::OPT) {
        Management::Opportunistic
    } else {
        return None;
    };
    let begins = header.flags.contains(Flags::SYN) && !header.flags.contains(Flags::ACK);
    let streams = own.ordering == Ordering::Streams;
    let ordering = match header.order {
        // R-STR-1
        Order::None if begins && streams && header.flags.contains(Flags::URG) => Ordering::Streams,
        Order::Streams if !begins && streams => Ordering::Streams,
        Order::Streams => return None,
        Order::None => Ordering::Unordered,
        Order::Partial => Ordering::Partial,
        Order::Full => Ordering::Full,
    };
    let offered = packet.fec.and_then(|fec| fec_kind(fec.kind));
    let kind = own.reliability.fec().or(offered).unwrap_or(FecKind::Xor);
    let reliability = match (header.error.contains(ErrorBits::ARQ), header.error.contains(ErrorBits::FEC)) {
        (false, false) => Reliability::None,
        (false, true) => Reliability::Quasi(kind),
        (true, false) => Reliability::Arq,
        (true, true) => Reliability::Harq(kind),
    };
    let ack_report = match (header.error.contains(ErrorBits::NAK), header.error.contains(ErrorBits::SAK)) {
        (false, false) => AckReport::Cumulative,
        (true, false) => AckReport::Nack,
        (false, true) => AckReport::Sack,
        (true, true) => AckReport::Snack,
    };
    let scheduler = match header.scheduler {
        wire::Scheduler::LowestRtt => Scheduler::FastestRtt,
        _ => Scheduler::RoundRobin,
    };
    let paths = match header.path_mode {
        PathMode::Single => Paths::Single,
        PathMode::HotStandby if own.paths == Paths::Overflow => Paths::Overflow,
        PathMode::HotStandby => Paths::HotStandby,
        PathMode::Spreading if own.paths == Paths::Copies || header.scheduler == wire::Scheduler::Both => {
            Paths::Copies
        }
        PathMode::Spreading => Paths::Spreading(scheduler),
    };
    let flow_control = if packet.window.is_some() { FlowControl::Window } else { FlowControl::None };
    let peer_controls = header.cong != Cong::NONE;
    let acknowledged = reliability.retransmits()
        || flow_control == FlowControl::Window
        || peer_controls
        || paths != Paths::Single;
    let ack_timing = match (acknowledged, header.error.contains(ErrorBits::DEL)) {
        (false, _) => AckTiming::None,
        (true, true) => AckTiming::Delayed,
        (true, false) => AckTiming::Positive,
    };
    let congestion = match own.congestion {
        _ if !acknowledged || (!peer_controls && own.i_own_the_path) => Congestion::None,
        Congestion::None if own.i_own_the_path => Congestion::None,
        Congestion::Lia if paths == Paths::Single => Congestion::NewReno,
        Congestion::None if paths == Paths::Single => Congestion::Cubic,
        Congestion::None | Congestion::Bic | Congestion::Cubic | Congestion::Bbr
            if matches!(paths, Paths::Spreading(_) | Paths::Overflow) =>
        {
            Congestion::Lia
        }
        Congestion::None => Congestion::NewReno,
        // Linked windows shift data from path to path, and copies cannot be shifted.
        _ if paths == Paths::Copies => Congestion::NewReno,
        kept => kept,
    };
    let stream = ordering == Ordering::Full && reliability.retransmits();
    let loss_cause = match own.loss_cause {
        LossCause::Outage if !reliability.retransmits() => LossCause::Congestion,
        LossCause::Dynamic if !acknowledged => LossCause::Congestion,
        kept => kept,
    };
    let mut profile = Profile {
        management,
        flow_control,
        congestion,
        ordering,
        reliability,
        ack_timing,
        ack_report: if acknowledged { ack_report } else { AckReport::Cumulative },
        duplicate_acks: own.duplicate_acks && acknowledged,
        framing: if stream { own.framing } else { Framing::Fixed },
        paths,
        loss_cause,
        crc: header.error.contains(ErrorBits::CRC),
        protection: match header.version {
            Version::Clear => Protection::ClearText,
            Version::Protected => Protection::Protected,
        },
        ..own.clone()
    };
    if profile.protection != own.protection {
        return None;
    }
    if exact {
        reduce(&mut profile, own);
        if profile.management != own.management
            || profile.ordering != own.ordering
            || profile.reliability != own.reliability
            || profile.flow_control != own.flow_control
            || profile.crc != own.crc
        {
            return None;
        }
    }
    Some(profile)
}

/// Leaves out what a peer may be asked to do without.
fn reduce(profile: &mut Profile, own: &Profile) {
    if own.paths == Paths::Single {
        profile.paths = Paths::Single;
        if profile.congestion == Congestion::Lia {
            profile.congestion = Congestion::NewReno;
        }
    }
    if profile.ack_report != own.ack_report {
        profile.ack_report = AckReport::Cumulative;
    }
    if own.reliability.fec().is_none() {
        profile.reliability = match profile.reliability {
            Reliability::Harq(_) => Reliability::Arq,
            Reliability::Quasi(_) => Reliability::None,
            kept => kept,
        };
    }
}

/// What an initiator makes of the responder's answer: its own composition less what the responder leaves out.
///
/// `None` if something essential is missing or something was added (answer D1).
pub(crate) fn agreed(packet: &Packet<'_>, own: &Composition) -> Option<Composition> {
    let profile = own.profile();
    let mut answer = requested(packet, own, false)?.profile().clone();
    // Our own congestion control, cause and timers stay ours.
    answer.congestion = match (profile.congestion, answer.paths) {
        (Congestion::Lia, Paths::Single) => Congestion::NewReno,
        (kept, _) => kept,
    };
    answer.loss_cause = profile.loss_cause;
    answer.framing = profile.framing;
    answer.ack_timing = match answer.ack_timing {
        AckTiming::None => profile.ack_timing,
        _ if profile.ack_timing == AckTiming::Delayed && answer.ack_timing == AckTiming::Positive => {
            AckTiming::Positive
        }
        kept => kept,
    };
    if let (Some(theirs), Some(_)) = (packet.fec.and_then(|fec| fec_kind(fec.kind)), answer.reliability.fec())
    {
        answer.reliability = match answer.reliability {
            Reliability::Harq(_) => Reliability::Harq(theirs),
            _ => Reliability::Quasi(theirs),
        };
    }
    let may = profile.dispensable;
    let same_paths = is_same_mode(answer.paths, profile.paths);
    let fine = answer.management == profile.management
        && answer.ordering == profile.ordering
        && answer.flow_control == profile.flow_control
        && answer.crc == profile.crc
        && answer.reliability.retransmits() == profile.reliability.retransmits()
        && (answer.reliability.fec().is_some() == profile.reliability.fec().is_some()
            || (may.fec && answer.reliability.fec().is_none()))
        && (same_paths || (may.several_paths && answer.paths == Paths::Single))
        && (answer.ack_report == profile.ack_report
            || (may.ack_report && answer.ack_report == AckReport::Cumulative));
    if same_paths {
        answer.paths = profile.paths;
    }
    if fine { own.with(answer) } else { None }
}

/// Both are one mode to the peer, within which the sender decides.
// R-MP-6, R-MP-14
fn is_same_mode(one: Paths, other: Paths) -> bool {
    let is_standby = |paths| matches!(paths, Paths::HotStandby | Paths::Overflow);
    let is_spreading = |paths| matches!(paths, Paths::Spreading(_) | Paths::Copies);
    one == other || (is_standby(one) && is_standby(other)) || (is_spreading(one) && is_spreading(other))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Dispensable;

    fn syn(profile: &Profile) -> Packet<'static> {
        let composition = profile.clone().validate().unwrap();
        let shape = Shape::new(&composition, 1, 2);
        Packet {
            window: shape.window.then_some(1),
            fec: profile.reliability.fec().map(|kind| Fec { kind: fec_code(kind), range: 0 }),
            ..Packet::new(shape.header)
        }
    }

    fn composition(profile: &Profile) -> Composition {
        profile.clone().validate().unwrap()
    }

    #[test]
    fn d1_a_flexible_listener_takes_every_preset() {
        let own = Profile::file_arq();
        for name in Profile::PRESETS {
            let profile = Profile::preset(name).unwrap();
            if profile.management == Management::Connectionless {
                continue;
            }
            let taken = requested(&syn(&profile), &composition(&own), false).unwrap();
            let taken = taken.profile();
            assert_eq!(
                (taken.ordering, taken.reliability, taken.ack_report, taken.paths),
                (profile.ordering, profile.reliability, profile.ack_report, profile.paths),
                "{name}"
            );
        }
    }

    // R-CM-3, R-FEC-8
    #[test]
    fn d1_an_exact_listener_offers_a_subset_and_the_initiator_decides() {
        let own = Profile::file_arq();
        let wanted = Profile { ack_report: AckReport::Snack, ..Profile::file_harq() };
        let offer = requested(&syn(&wanted), &composition(&own), true).unwrap();
        assert_eq!(offer.profile().reliability, Reliability::Arq);
        let answer = syn(offer.profile());
        let composition = wanted.clone().validate().unwrap();
        assert_eq!(agreed(&answer, &composition).unwrap().profile().reliability, Reliability::Arq);
        let strict = Profile { dispensable: Dispensable::default(), ..wanted }.validate().unwrap();
        assert!(agreed(&answer, &strict).is_none());
    }

    #[test]
    fn a_peer_that_asks_for_what_is_offered_costs_no_profile_of_its_own() {
        for name in Profile::PRESETS {
            let own = composition(&Profile::preset(name).unwrap());
            if own.profile().management == Management::Connectionless {
                continue;
            }
            for exact in [false, true] {
                let taken = requested(&syn(own.profile()), &own, exact).unwrap();
                assert!(std::ptr::eq(taken.profile(), own.profile()), "{name}");
            }
            assert!(
                std::ptr::eq(agreed(&syn(own.profile()), &own).unwrap().profile(), own.profile()),
                "{name}"
            );
        }
    }

    #[test]
    fn d1_several_paths_fall_back_to_one() {
        let wanted = Profile::multipath();
        let offer = requested(&syn(&wanted), &composition(&Profile::file_arq()), true).unwrap();
        let agreed = agreed(&syn(offer.profile()), &wanted.validate().unwrap()).unwrap();
        assert_eq!(
            (agreed.profile().paths, agreed.profile().congestion),
            (Paths::Single, Congestion::NewReno)
        );
    }
}

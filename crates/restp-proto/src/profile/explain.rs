//! `explain()`: what is in force and why, in sentences.

use std::fmt::Write;

use super::{
    AckReport, AckTiming, Composition, Congestion, FecKind, FlowControl, Framing, LossCause, Management,
    Ordering, Paths, Protection, Reliability, Scheduler,
};
use crate::wire::MAX_PATHS;

impl Composition {
    /// The services in force, one sentence a line, the most consequential first.
    #[must_use]
    // R-COMP-2, R-SEC-6
    pub fn explain(&self) -> String {
        let p = self.profile();
        let mut text = format!("Profile {}.\n", p.name);
        let lines = [
            protection(p.protection),
            management(p.management),
            reliability(p.reliability, p.ordering),
            ordering(p.ordering),
            framing(p.framing, p.ordering),
            congestion(p.congestion),
            flow_control(p.flow_control),
            loss_cause(p.loss_cause),
            paths(p.paths),
        ];
        for line in lines {
            text.push_str(line);
            text.push('\n');
        }
        if p.paths == Paths::Copies && p.tuning.copies < MAX_PATHS as u32 {
            let _ = writeln!(text, "No message on more than {} of them at a time.", p.tuning.copies);
        }
        let _ = writeln!(
            text,
            "{}{}",
            acknowledgement(p.ack_timing, p.ack_report),
            if p.duplicate_acks { " The last one is repeated while nothing arrives." } else { "" }
        );
        text.push_str(error_detection(p.crc, p.protection));
        text.push('\n');
        if !p.reasons.is_empty() {
            text.push_str("Chosen because:\n");
        }
        for reason in &p.reasons {
            let _ = writeln!(text, "- {reason}.");
        }
        for warning in self.warnings() {
            let _ = writeln!(text, "Warning: {warning}");
        }
        text
    }
}

fn protection(protection: Protection) -> &'static str {
    match protection {
        Protection::ClearText => "CLEAR TEXT: anyone on the path can read, forge and end this connection.",
        Protection::Protected => {
            "Protected: Noise handshake, then encrypted payload and authenticated header."
        }
    }
}

fn management(management: Management) -> &'static str {
    match management {
        Management::Connectionless => "Connectionless: no handshake, no state at the peer.",
        Management::ThreeWay => "Three-way handshake: data waits one round trip.",
        Management::Opportunistic => "Opportunistic handshake: with a cookie, data leaves at once.",
    }
}

fn reliability(reliability: Reliability, ordering: Ordering) -> &'static str {
    match (reliability, ordering) {
        (Reliability::None, _) => "Unreliable: a lost packet stays lost.",
        (Reliability::Quasi(FecKind::Xor), _) => {
            "Quasi reliable: one loss per encoded group is repaired (XOR)."
        }
        (Reliability::Quasi(FecKind::Interleaved), _) => {
            "Quasi reliable: two losses in a row are repaired (interleaved XOR)."
        }
        (Reliability::Arq, Ordering::Partial) => {
            "Partially reliable: losses are repeated until the receiver passes over them."
        }
        (Reliability::Arq, _) => "Fully reliable: losses are repeated until they arrive (ARQ).",
        (Reliability::Harq(_), Ordering::Partial) => {
            "Partially reliable: repaired from encoded packets or repeated until the receiver passes over them."
        }
        (Reliability::Harq(_), _) => "Fully reliable: repaired from encoded packets, else repeated (HARQ).",
    }
}

fn ordering(ordering: Ordering) -> &'static str {
    match ordering {
        Ordering::Unordered => "Unordered: delivered as it arrives.",
        Ordering::Partial => "Partially ordered: in order unless a hole lasts too long.",
        Ordering::Full => "Fully ordered.",
        Ordering::Streams => "Streams: each is ordered for itself and has its own flow control and priority.",
    }
}

fn framing(framing: Framing, ordering: Ordering) -> &'static str {
    match (framing, ordering) {
        // R-STR-1
        (_, Ordering::Streams) => "Bytes: a stream has no message boundaries.",
        (Framing::Fixed, _) => "Fixed framing: one message is one packet.",
        (Framing::Coalesce, _) => "Coalescing: a byte stream without message boundaries.",
    }
}

fn error_detection(crc: bool, protection: Protection) -> &'static str {
    match (crc, protection) {
        // R-PROT-6
        (_, Protection::Protected) => {
            "Every packet is authenticated: nothing changed or corrupt is delivered."
        }
        (true, _) => "Header and payload are checked (CRC-16, CRC-32C); nothing corrupt is delivered.",
        (false, _) => "No error detection of its own.",
    }
}

fn congestion(congestion: Congestion) -> &'static str {
    match congestion {
        Congestion::None => "No congestion control: constant window.",
        Congestion::NewReno => "Congestion control: NewReno.",
        Congestion::Bic => "Congestion control: BIC.",
        Congestion::Cubic => "Congestion control: CUBIC.",
        Congestion::Bbr => "Congestion control: BBR.",
        Congestion::Lia => "Congestion control: linked increases over all paths (LIA).",
    }
}

fn flow_control(flow_control: FlowControl) -> &'static str {
    match flow_control {
        FlowControl::None => "No flow control: what the receiver cannot hold is dropped.",
        FlowControl::Window => "Flow control: the receiver grants packets.",
    }
}

fn loss_cause(cause: LossCause) -> &'static str {
    match cause {
        LossCause::Congestion => "A loss means congestion: slow down.",
        LossCause::Corruption => "A loss means bit errors: repeat without slowing down.",
        LossCause::Outage => "A timeout means the link is gone: freeze, and probe until it is back.",
        LossCause::Dynamic => "The cause of losses is found out from evidence.",
    }
}

fn paths(paths: Paths) -> &'static str {
    match paths {
        Paths::Single => "One path.",
        Paths::HotStandby => "Several paths, one in use, the others in hot standby.",
        Paths::Overflow => "Several paths, the next one used when the first is full.",
        Paths::Spreading(Scheduler::RoundRobin) => "Several paths, all in use, in turn.",
        Paths::Spreading(Scheduler::FastestRtt) => "Several paths, all in use, the lowest RTT first.",
        Paths::Copies => "Several paths, each message on all of them at once, and the first copy counts.",
    }
}

fn acknowledgement(timing: AckTiming, report: AckReport) -> String {
    let timing = match timing {
        AckTiming::None => return "No acknowledgements.".into(),
        AckTiming::Positive => "Acknowledgements for every other packet",
        AckTiming::Delayed => "Acknowledgements once per delay period",
    };
    let report = match report {
        AckReport::Cumulative => "cumulative only",
        AckReport::Nack => "with the first hole (NACK)",
        AckReport::Sack => "with the blocks that arrived (SACK)",
        AckReport::Snack => "with a vector of holes (SNACK)",
    };
    format!("{timing}, {report}.")
}

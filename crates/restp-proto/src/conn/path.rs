//! One path of a connection: numbers in both directions, RTT, congestion control, timers.

mod handshake;
mod health;
mod progress;
mod rate;
mod timers;

pub(crate) use timers::Timer;

use std::collections::VecDeque;
use std::time::Duration;

use handshake::Handshake;
use health::Health;
use progress::Progress;
use rate::RateControl;
use timers::Timers;

use super::cause::CauseEstimator;
use super::fec::{Decoder, Encoder};
use super::multipath::Join;
use super::proof::Moving;
use super::receiver::ReceiveWindow;
use super::sender::SendWindow;
use super::sizes::{Partial, Sizes};
use crate::path::{PathAddr, PathId};
use crate::profile::{Composition, LossCause, Paths, Tuning};
use crate::rtt::RttEstimator;
use crate::time::Instant;

/// How far a path has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// SYN sent (also with MP_JOIN).
    SynSent,
    /// SYN answered on the strength of a cookie; the peer has not yet acknowledged.
    SynReceived,
    /// Numbers are agreed in both directions.
    Established,
    /// Closed, or given up; kept until its owner removes it.
    Closed,
}

/// Packets of the first window at most, however long the path.
const WIDEST_START: u32 = 200;
/// No round trip is taken to be longer where the handshake leaves open which of several packets was answered: a timer
/// for what has no RTT yet would not wait longer either (RFC 6298, section 2).
const LONGEST_GUESS: Duration = Duration::from_secs(1);

/// Outage: everything is frozen, only probes go out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outage {
    pub since: Instant,
}

/// Pending acknowledgement of one path.
#[derive(Debug, Default)]
pub(crate) struct AckState {
    /// Data packets not acknowledged yet.
    pub pending: u32,
    /// Send one as soon as possible.
    pub now: bool,
    /// Echo a congestion mark until the sender has reacted.
    pub echo: bool,
    /// Echo once: a repair hid a loss from the sender (answer G7).
    pub echo_once: bool,
    /// Tell the sender of a damaged payload (COR).
    pub corruption: bool,
    /// An encoded packet was answered; `Some(range)` goes into the FEC word of the acknowledgement.
    pub fec_range: Option<u32>,
    /// Repeats left (answer E5).
    pub repeats: u32,
    /// Window that was advertised last, as the first number beyond it.
    pub granted: u64,
}

/// A path.
#[derive(Debug)]
pub(crate) struct Path {
    pub id: PathId,
    pub addr: PathAddr,
    pub stage: Stage,
    pub handshake: Handshake,
    pub local_isn: u32,
    pub peer_isn: u32,
    pub tx: SendWindow,
    pub rx: ReceiveWindow,
    pub rtt: RttEstimator,
    pub rate: RateControl,
    pub cause: CauseEstimator,
    pub ack: AckState,
    pub encoder: Option<Box<Encoder>>,
    pub decoder: Option<Box<Decoder>>,
    pub outage: Option<Outage>,
    pub timers: Timers,
    pub progress: Progress,
    pub health: Health,
    pub backup: bool,
    /// Bytes that may still be sent before the peer's address is proven (answer D10).
    pub allowance_bytes: Option<usize>,
    /// What the two ends owe each other since one of them moved.
    pub moving: Option<Box<Moving>>,
    /// What is known of its MTU, where it is searched for.
    pub sizes: Option<Box<Sizes>>,
    /// Packets of which parts have arrived.
    pub partial: VecDeque<Partial>,
    /// Control packets to be sent when possible.
    pub wants: Wants,
    pub join: Option<Box<Join>>,
    pub fin_sent: bool,
}

/// Control packets that a path owes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wants {
    pub syn: bool,
    pub syn_ack: bool,
    /// Third acknowledgement of a handshake or join.
    pub confirm: bool,
    /// Probe whose number lies before the window, so that the peer must answer.
    pub probe: bool,
    /// A change of priority.
    pub priority: bool,
    /// Packet to be sent again whatever the congestion window says: fast retransmission, window or outage probe.
    pub resend: Option<u64>,
    /// Tail probes to be sent, whatever the congestion window says.
    pub tail_probes: u32,
    /// Reset with this number, for an old connection or path that the peer still has.
    pub refuse: Option<u32>,
}

impl Path {
    pub fn new(id: PathId, addr: PathAddr, composition: &Composition, local_isn: u32, now: Instant) -> Self {
        let profile = composition.profile();
        let t = &profile.tuning;
        let several = composition.several_paths();
        let mut tx = SendWindow::new(1);
        tx.expect_bare_answers(profile.has_bare_answers());
        // Where nothing is repeated an acknowledgement may pass over what has not arrived.
        tx.name_messages(profile.paths == Paths::Copies && profile.reliability.retransmits());
        Self {
            id,
            addr,
            stage: Stage::SynSent,
            handshake: Handshake::new(now),
            local_isn,
            peer_isn: 0,
            tx,
            // On several paths one path may carry everything that the shared window allows, and repeats besides.
            rx: ReceiveWindow::new(1, if several { 65_535 } else { t.receive_window_packets }),
            rtt: RttEstimator::new(t.initial_rto, t.min_rto, t.max_rto),
            rate: RateControl::new(profile),
            cause: CauseEstimator::new(),
            ack: AckState { repeats: t.duplicate_ack_limit, ..AckState::default() },
            encoder: profile.reliability.fec().map(|kind| Box::new(Encoder::new(kind, t.fec_group, several))),
            decoder: profile.reliability.fec().map(|_| Box::default()),
            outage: None,
            timers: Timers::new(),
            progress: Progress::new(),
            health: Health::new(now),
            backup: false,
            allowance_bytes: None,
            moving: None,
            sizes: Sizes::new(t),
            partial: VecDeque::new(),
            wants: Wants::default(),
            join: None,
            fin_sent: false,
        }
    }

    /// The packet that the handshake repeats until it is answered was answered at last.
    // R-ARQ-6, R-CC-1
    pub fn on_handshake_answer(&mut self, now: Instant, tuning: &Tuning) {
        match self.handshake.rtt(now) {
            Some(rtt) => self.rtt.sample(rtt),
            None => self.guess_rtt(self.handshake.since_first(now)),
        }
        let packets = f64::from(tuning.initial_rate_pps) * self.rtt.smoothed().as_secs_f64();
        self.rate.widen((packets as u32).min(WIDEST_START));
    }

    /// What was learnt of the way that the path went is of no use on another one.
    // R-ENCAP-5
    pub fn learn_anew(&mut self, composition: &Composition) {
        let profile = composition.profile();
        let t = &profile.tuning;
        self.rtt = RttEstimator::new(t.initial_rto, t.min_rto, t.max_rto);
        self.rate.learn_anew(profile);
        self.tx.learn_anew();
    }

    /// Something else than data was answered after `time`: as long as nothing was measured that stands in for the RTT.
    // R-ARQ-6, R-ENCAP-5
    pub fn guess_rtt(&mut self, time: Duration) {
        self.rtt.assume(time.min(LONGEST_GUESS));
    }

    /// Holds the rate at a window a round trip while that round trip lasts, and on while a repetition waits (answer I5).
    pub fn pace_for_a_round_trip(&mut self, now: Instant) {
        self.rate.pacer.hold(now + self.rtt.smoothed());
    }

    /// Packets may be numbered on it.
    pub fn is_open(&self) -> bool {
        self.stage == Stage::Established || self.stage == Stage::SynReceived
    }

    /// Data may be numbered and sent, be it as early data.
    pub fn carries_data(&self) -> bool {
        self.is_open() || (self.handshake.early && self.stage == Stage::SynSent)
    }

    /// New data may go there now.
    pub fn is_usable(&self) -> bool {
        self.carries_data()
            && !self.health.is_suspect()
            && self.outage.is_none()
            && (self.id.0 == 0 || self.handshake.confirmed)
    }

    /// An encoded packet waits to be sent.
    pub fn has_encoded(&self) -> bool {
        self.encoder.as_ref().is_some_and(|encoder| encoder.has_ready())
    }

    /// Drops encoded packets that could repair nothing any more, as all of their packets have arrived.
    // R-HARQ-4
    pub fn forget_useless_encoded(&mut self) {
        if let Some(encoder) = &mut self.encoder {
            encoder.keep_useful(|number| self.tx.get(number).is_some_and(SendWindow::is_outstanding));
        }
    }

    /// The congestion window has room.
    pub fn has_room(&self) -> bool {
        self.tx.in_flight() < self.rate.window()
    }

    /// What losses on this path mean at present.
    pub fn cause(&self, configured: LossCause) -> LossCause {
        if configured == LossCause::Dynamic { self.cause.verdict() } else { configured }
    }

    /// (Re)starts the timers for what is in flight, or stops them. The timeout comes after the first probes.
    // R-ARQ-4
    pub fn arm_retransmit(&mut self, now: Instant, tail_probe: bool, ack_delay: Duration) {
        if !self.tx.waits() || self.outage.is_some() {
            self.timers.stop(Timer::Retransmit);
            self.timers.stop(Timer::Tail);
            return;
        }
        let mut timeout = self.rtt.rto();
        if let Some(first) = self.probe_wait(ack_delay).filter(|_| tail_probe) {
            if self.progress.is_unprobed() {
                timeout += first;
            }
            self.timers.set(Timer::Tail, now + first);
        }
        self.timers.set(Timer::Retransmit, now + timeout);
    }

    /// How long nothing is acknowledged before probes go out. As long as nothing told the RTT, only a FIN that is alone on its
    /// way is probed with: a flight sent twice over a long path would cost more than it helps.
    // R-ARQ-4
    pub fn probe_wait(&self, ack_delay: Duration) -> Option<Duration> {
        if self.rtt.measured().is_some() {
            return Some(self.rtt.probe_wait(ack_delay));
        }
        self.tx.is_fin_alone().then(|| self.rtt.base_rto())
    }
}

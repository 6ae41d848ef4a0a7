//! COP-1 at work on protected frames, without sockets and clocks: the sender with FOP-1, the receiver with FARM-1.
//!
//! Security lies below COP-1 here: a frame that is sent again is protected anew, with a number of its own, and FARM-1
//! sees only frames that were authentic. So nobody without the key can put either end out of step.

use std::collections::VecDeque;
use std::time::Duration;

use sdls::cop1::{Alert, Directive, Farm, Fop, FopConfig, FopError, Notification, Transmit, Verdict};
use sdls::frame::{SegmentHeader, SequenceFlags, TcService};

use super::frames::{CHANNEL, Frames, Segment, counts};
use crate::error::Failure;

/// What stands in a segment header's first two bits, by its number.
const FLAGS: [SequenceFlags; 4] =
    [SequenceFlags::Continuing, SequenceFlags::First, SequenceFlags::Last, SequenceFlags::Unsegmented];

/// Segments that wait for room in the window: a few frames, so that a sender without room is told of some while frames
/// are still to go.
const WAITING_SEGMENTS: usize = 16;

/// The sender.
pub(super) struct Sending {
    frames: Frames,
    fop: Fop,
    config: FopConfig,
    waiting: VecDeque<Segment>,
    /// Data that FOP-1 has and that were not acknowledged.
    under_way: u64,
    /// The number of the newest frame that was ever sent, by how many went before it.
    sent: u64,
    alert: Option<Alert>,
}

impl Sending {
    /// A sender that counts from 0, as its receiver does: `now` is the time of the run.
    pub(super) fn new(frames: Frames, config: FopConfig, now: Duration) -> Result<Self, Failure> {
        let mut fop = Fop::new(config.clone()).map_err(|error| refused(&error))?;
        fop.direct(now, Directive::InitiateWithoutReport).map_err(|error| refused(&error))?;
        Ok(Self { frames, fop, config, waiting: VecDeque::new(), under_way: 0, sent: 0, alert: None })
    }

    pub(super) fn frames(&self) -> &Frames {
        &self.frames
    }

    /// Whether a message is taken.
    pub(super) fn has_room(&self) -> bool {
        self.waiting.len() < WAITING_SEGMENTS
    }

    /// Takes a message.
    pub(super) fn push(&mut self, message: &[u8]) -> Result<(), Failure> {
        let segments = self.frames.segments(message)?;
        self.waiting.extend(segments);
        Ok(())
    }

    /// Whether everything was acknowledged.
    pub(super) fn is_done(&self) -> bool {
        self.waiting.is_empty() && self.under_way == 0
    }

    /// The next frame to send now.
    pub(super) fn poll(&mut self, now: Duration) -> Result<Option<Vec<u8>>, Failure> {
        self.check()?;
        self.feed()?;
        let Some(transmit) = self.fop.poll_transmit(now) else { return Ok(None) };
        // The layer below is a datagram socket: what it cannot take at once is lost as on the way.
        self.fop.accepted(&transmit);
        let Transmit::Sequenced { number, data } = transmit else {
            return Err(Failure::new("COP-1 sent a control command that nobody asked for"));
        };
        let newest = self.fop.next_number().wrapping_sub(1);
        let is_new = number == newest && self.sent % 256 == u64::from(number);
        if is_new {
            self.sent += 1;
        } else {
            self.frames.count(counts::AGAIN);
        }
        self.feed()?;
        self.frames.command(TcService::SequenceControlled, number, opened(&data)?).map(Some)
    }

    fn feed(&mut self) -> Result<(), Failure> {
        if let Some((header, data)) = self.waiting.front() {
            match self.fop.send(closed(*header, data)) {
                Ok(_) => {
                    self.waiting.pop_front();
                    self.under_way += 1;
                }
                Err(FopError::Busy) => {}
                Err(error) => return Err(refused(&error)),
            }
        }
        Ok(())
    }

    /// Takes what came from the receiver.
    pub(super) fn handle(&mut self, octets: &[u8], now: Duration) -> Result<(), Failure> {
        if let Some(report) = self.frames.open_report(octets) {
            self.fop.handle_report(now, &report);
        }
        self.check()
    }

    /// When [`Sending::handle_timeout`] is due.
    pub(super) fn due(&self) -> Option<Duration> {
        self.fop.poll_timeout()
    }

    pub(super) fn handle_timeout(&mut self, now: Duration) -> Result<(), Failure> {
        self.fop.handle_timeout(now);
        self.check()
    }

    fn check(&mut self) -> Result<(), Failure> {
        while let Some(notification) = self.fop.poll_notification() {
            match notification {
                Notification::Delivered(_) => self.under_way -= 1,
                Notification::Alert(alert) => self.alert = Some(alert),
                _ => {}
            }
        }
        self.alert.map_or(Ok(()), |alert| Err(self.ended(alert)))
    }

    fn ended(&self, alert: Alert) -> Failure {
        let FopConfig { transmission_limit, timer, .. } = &self.config;
        match alert {
            Alert::Timer | Alert::Limit => Failure::TimedOut(format!(
                "timed out: COP-1 gave up, for a frame was sent {transmission_limit} times and not acknowledged \
                 within `timer_s` of {} s; give a longer one or a higher `transmission_limit`",
                timer.as_secs_f64()
            )),
            Alert::Lockout => Failure::Reset("reset: the receiver of COP-1 is in lockout".to_owned()),
            other => Failure::Reset(format!("reset: the ends of COP-1 are out of step ({other:?})")),
        }
    }
}

fn refused(error: &FopError) -> Failure {
    Failure::new(format!("COP-1: {error}"))
}

/// A segment as FOP-1 keeps it: its header's octet in front.
fn closed(header: SegmentHeader, data: &[u8]) -> Vec<u8> {
    let flags = FLAGS.iter().position(|flags| *flags == header.flags).unwrap_or(0);
    let mut octets = Vec::with_capacity(1 + data.len());
    octets.push((flags as u8) << 6 | header.map);
    octets.extend_from_slice(data);
    octets
}

fn opened(octets: &[u8]) -> Result<Segment, Failure> {
    let (first, data) =
        octets.split_first().ok_or_else(|| Failure::new("COP-1 gave back data without their header"))?;
    let header = SegmentHeader { flags: FLAGS[usize::from(first >> 6)], map: first & 0x3F };
    Ok((header, data.to_vec()))
}

/// The receiver.
pub(super) struct Receiving {
    frames: Frames,
    farm: Farm,
    ready: VecDeque<Vec<u8>>,
}

impl Receiving {
    /// A receiver that expects number 0 of a sender with so many frames under way.
    pub(super) fn new(frames: Frames, window: u8) -> Result<Self, Failure> {
        let farm = Farm::new(CHANNEL, window.saturating_mul(2))
            .map_err(|error| Failure::new(format!("COP-1: {error}")))?;
        Ok(Self { frames, farm, ready: VecDeque::new() })
    }

    pub(super) fn frames(&self) -> &Frames {
        &self.frames
    }

    /// Takes what came from the sender. Tells whether it is worth a report.
    pub(super) fn handle(&mut self, octets: &[u8]) -> bool {
        let Some(opened) = self.frames.open_command(octets) else { return false };
        if self.farm.receive(&opened.frame, true) == Verdict::Accepted {
            self.ready.extend(self.frames.take(&opened.frame));
        }
        true
    }

    /// The next message that is whole.
    pub(super) fn next(&mut self) -> Option<Vec<u8>> {
        self.ready.pop_front()
    }

    /// What to report now, as a frame.
    pub(super) fn report(&mut self) -> Result<Vec<u8>, Failure> {
        let clcw = self.farm.report();
        self.frames.report(&clcw)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use sdls::cop1::TimeoutType;

    use super::*;
    use crate::stacks::sdls::frames::{Cipher, End};

    const RTT: Duration = Duration::from_secs(2);

    fn ends(cipher: Cipher, frame_octets: usize, timer: Duration, limit: u32) -> (Sending, Receiving) {
        let frames = |end| Frames::new(9, end, cipher, frame_octets, 5000).expect("they go together");
        let config = FopConfig {
            channel: CHANNEL,
            window: 10,
            timer,
            transmission_limit: limit,
            timeout_type: TimeoutType::Alert,
        };
        let sending = Sending::new(frames(End::Ground), config, Duration::ZERO).expect("it begins");
        (sending, Receiving::new(frames(End::Space), 10).expect("the window is even"))
    }

    /// Moves frames and reports over a link with a delay of half of `RTT` until nothing moves; `lost` says which of the
    /// datagrams, counted in both directions together, vanish. Returns what arrived.
    fn exchange(
        sending: &mut Sending,
        receiving: &mut Receiving,
        messages: &[Vec<u8>],
        mut lost: impl FnMut() -> bool,
    ) -> Result<Vec<Vec<u8>>, Failure> {
        let mut now = Duration::ZERO;
        let (mut up, mut down) = (VecDeque::new(), VecDeque::new());
        let (mut arrived, mut next) = (Vec::new(), 0);
        for _ in 0..20_000 {
            while next < messages.len() && sending.has_room() {
                sending.push(&messages[next])?;
                next += 1;
            }
            while let Some(frame) = sending.poll(now)? {
                if !lost() {
                    up.push_back((now + RTT / 2, frame));
                }
            }
            if next == messages.len() && sending.is_done() {
                return Ok(arrived);
            }
            let fronts =
                [&up, &down].map(|queue: &VecDeque<(Duration, Vec<u8>)>| queue.front().map(|one| one.0));
            now = fronts.into_iter().flatten().chain(sending.due()).min().expect("the timer runs").max(now);
            while up.front().is_some_and(|(at, _)| *at <= now) {
                let (_, frame) = up.pop_front().expect("it was there");
                if receiving.handle(&frame) && !lost() {
                    down.push_back((now + RTT / 2, receiving.report()?));
                }
                arrived.extend(std::iter::from_fn(|| receiving.next()));
            }
            while down.front().is_some_and(|(at, _)| *at <= now) {
                let (_, report) = down.pop_front().expect("it was there");
                sending.handle(&report, now)?;
            }
            if sending.due().is_some_and(|due| due <= now) {
                sending.handle_timeout(now)?;
            }
        }
        panic!("nothing ends");
    }

    fn messages(count: usize, octets: usize) -> Vec<Vec<u8>> {
        (0..count).map(|number| vec![number as u8; octets]).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn what_is_lost_comes_again_whole_and_in_order(
            seed in any::<u64>(),
            share in 0_u8..40,
            octets in 1_usize..3000,
            cipher in prop::sample::select(vec![Cipher::Aes256Gcm, Cipher::Aes128Gcm, Cipher::Aes256Cmac]),
        ) {
            let (mut sending, mut receiving) = ends(cipher, 400, RTT * 3 / 2, 1000);
            let messages = messages(40, octets);
            let mut state = seed;
            let lost = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 33) % 100 < u64::from(share)
            };
            let arrived = exchange(&mut sending, &mut receiving, &messages, lost);
            prop_assert_eq!(arrived.expect("nothing gives up"), messages);
        }
    }

    #[test]
    fn nothing_is_sent_again_where_nothing_is_lost() {
        let (mut sending, mut receiving) = ends(Cipher::Aes256Gcm, 1024, RTT * 2, 3);
        let messages = messages(600, 900);
        let arrived = exchange(&mut sending, &mut receiving, &messages, || false).expect("nothing is lost");
        assert_eq!(arrived, messages);
        let counts = sending.frames().counts();
        assert_eq!((counts["frames_sent"], counts.get("frames_sent_again")), (600, None));
        assert_eq!(receiving.frames().counts()["frames_missing"], 0);
    }

    #[test]
    fn a_timer_below_the_round_trip_ends_the_service_with_a_sentence() {
        let (mut sending, mut receiving) = ends(Cipher::Aes256Gcm, 1024, RTT / 10, 3);
        let failure = exchange(&mut sending, &mut receiving, &messages(3, 900), || false);
        let sentence = failure.expect_err("three times are over before a report can come").to_string();
        assert!(
            sentence.contains("sent 3 times and not acknowledged within `timer_s` of 0.2 s"),
            "{sentence}"
        );
    }

    #[test]
    fn frames_of_another_key_and_frames_that_come_twice_are_refused_and_counted() {
        let (mut sending, mut receiving) = ends(Cipher::Aes256Gcm, 1024, RTT, 3);
        sending.push(b"open the valve").expect("it fits");
        let frame =
            sending.poll(Duration::ZERO).expect("the service runs").expect("there is something to send");
        assert!(receiving.handle(&frame));
        assert!(!receiving.handle(&frame));
        let mut foreign = Frames::new(10, End::Ground, Cipher::Aes256Gcm, 1024, 14).expect("it can be");
        let segment = foreign.segments(b"close the valve").expect("it fits").remove(0);
        let forged = foreign.command(TcService::SequenceControlled, 1, segment).expect("it can be made");
        assert!(!receiving.handle(&forged));
        let counts = receiving.frames().counts();
        assert_eq!((counts["refused_replay"], counts["refused_mac"]), (1, 1));
        assert_eq!(receiving.next().as_deref(), Some(&b"open the valve"[..]));
        assert_eq!(receiving.next(), None);
    }
}

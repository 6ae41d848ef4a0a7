//! The sender of COP-1: frame operation procedure (FOP-1).

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::time::Duration;

use super::queue::{Sent, SentQueue};
use crate::frame::ControlCommand;
use crate::ocf::Clcw;

/// Where the sender is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FopState {
    /// S1: the service runs.
    Active,
    /// S2: frames are sent again.
    Retransmit,
    /// S3: frames are to be sent again once the receiver has room.
    RetransmitWait,
    /// S4: it waits for a report to begin with.
    AwaitReport,
    /// S5: it waits until its control command was done.
    AwaitCommand,
    /// S6: there is no service.
    Initial,
}

/// What happens when the timer runs out for the last time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum TimeoutType {
    /// The service ends with an alert.
    #[default]
    Alert,
    /// The service is suspended and can be resumed.
    Suspend,
}

/// Parameters of a sender.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FopConfig {
    /// Virtual channel.
    pub channel: u8,
    /// K, the most frames under way, 1 to 255 and at most half of the receiver's window.
    pub window: u8,
    /// T1, after which an unacknowledged frame is sent again: at least a round trip.
    pub timer: Duration,
    /// How often a frame is sent at most.
    pub transmission_limit: u32,
    /// What happens then.
    pub timeout_type: TimeoutType,
}

/// What the sender is told to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Directive {
    /// Begin with the sender's own count, at once: for a link whose counts are known to agree. COP-1 does not look whether
    /// V(S) is the receiver's V(R). If V(R) is ahead of it by 1 to K, as after a restart of the sender, the receiver drops
    /// the data in between as ones that it had, and its next report has them [`Delivered`](Notification::Delivered).
    InitiateWithoutReport,
    /// Begin once a report agrees with the count.
    InitiateWithReport,
    /// Begin with an unlock command.
    InitiateWithUnlock,
    /// Begin with a command that sets the receiver's count, and the sender's, to this number.
    InitiateWithSetVr(u8),
    /// End.
    Terminate,
    /// Go on after a suspension.
    Resume,
    /// Set the sender's count; only while there is no service.
    SetVs(u8),
    /// Set K.
    SetWindow(u8),
    /// Set T1.
    SetTimer(Duration),
    /// Set the limit.
    SetTransmissionLimit(u32),
    /// Set what happens at the limit.
    SetTimeoutType(TimeoutType),
}

/// Why the service ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Alert {
    /// Sent as often as allowed, with a request to send it again.
    Limit,
    /// Sent as often as allowed, and the timer ran out.
    Timer,
    /// The receiver is in lockout.
    Lockout,
    /// The reports contradict what was sent.
    Synchronisation,
    /// A report acknowledges what was never sent.
    ReportedNumber,
    /// A report is invalid in itself.
    Report,
    /// The layer below refused a frame.
    LowerLayer,
    /// The user ended it.
    Terminated,
}

/// What the user is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Notification {
    /// Data were acknowledged; the name is that of [`Fop::send`]. They have arrived, if the service began with V(S) equal
    /// to the receiver's V(R): all directives to begin see to it but [`Directive::InitiateWithoutReport`].
    Delivered(u64),
    /// Data are given up, and may have arrived or not.
    GivenUp(u64),
    /// Data waiting to be sent are given back unsent.
    Rejected(u64),
    /// The service runs: after a directive to begin or to resume.
    Running,
    /// The service is suspended.
    Suspended,
    /// The service ended.
    Alert(Alert),
}

/// Why a request was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FopError {
    /// There is no service.
    #[error("the sender of COP-1 is {state:?}; data in sequence are taken once it is begun")]
    NoService {
        /// Where it is.
        state: FopState,
    },
    /// Data wait already.
    #[error("data wait to be sent already; wait until they are")]
    Busy,
    /// The directive is not for this state.
    #[error("the sender of COP-1 is {state:?} and cannot be told {directive:?}")]
    Directive {
        /// Where it is.
        state: FopState,
        /// The directive.
        directive: Directive,
    },
    /// A parameter is none.
    #[error("{what} cannot be 0")]
    Zero {
        /// Which.
        what: &'static str,
    },
}

/// What is to be sent now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transmit {
    /// Data in sequence, frame type AD.
    Sequenced {
        /// N(S).
        number: u8,
        /// Data.
        data: Vec<u8>,
    },
    /// Data at once, frame type BD.
    Expedited(Vec<u8>),
    /// A control command, frame type BC.
    Control(ControlCommand),
}

/// The sender of one virtual channel. After each [`Transmit`] call [`accepted`](Self::accepted) once the layer below has
/// taken the frame; until then nothing more of its kind comes out.
#[derive(Clone, Debug)]
pub struct Fop {
    config: FopConfig,
    state: FopState,
    /// V(S), the number of the next new frame.
    next: u8,
    /// NN(R), the oldest number that is not acknowledged.
    oldest: u8,
    sent: SentQueue,
    waiting: Option<(u64, Vec<u8>)>,
    expedited: VecDeque<Vec<u8>>,
    command: Option<(ControlCommand, bool)>,
    transmissions: u32,
    deadline: Option<Duration>,
    suspended: Option<FopState>,
    sequenced_ready: bool,
    control_ready: bool,
    expedited_ready: bool,
    names: u64,
    notifications: VecDeque<Notification>,
}

impl Fop {
    /// A sender without service.
    ///
    /// # Errors
    /// If window or limit are 0.
    pub fn new(config: FopConfig) -> Result<Self, FopError> {
        for (what, zero) in
            [("the window", config.window == 0), ("the transmission limit", config.transmission_limit == 0)]
        {
            if zero {
                return Err(FopError::Zero { what });
            }
        }
        Ok(Self {
            config,
            state: FopState::Initial,
            next: 0,
            oldest: 0,
            sent: SentQueue::default(),
            waiting: None,
            expedited: VecDeque::new(),
            command: None,
            transmissions: 1,
            deadline: None,
            suspended: None,
            sequenced_ready: true,
            control_ready: true,
            expedited_ready: true,
            names: 0,
            notifications: VecDeque::new(),
        })
    }

    /// Where it is.
    #[must_use]
    pub fn state(&self) -> FopState {
        self.state
    }

    /// V(S), the number of the next new frame.
    #[must_use]
    pub fn next_number(&self) -> u8 {
        self.next
    }

    /// When [`handle_timeout`](Self::handle_timeout) is due.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Duration> {
        self.deadline
    }

    /// What the user is to be told.
    pub fn poll_notification(&mut self) -> Option<Notification> {
        self.notifications.pop_front()
    }

    /// Takes data to be delivered in sequence, and names them (E19, E20).
    ///
    /// # Errors
    /// If there is no service, or data wait already.
    pub fn send(&mut self, data: Vec<u8>) -> Result<u64, FopError> {
        match self.state {
            FopState::Active | FopState::Retransmit | FopState::RetransmitWait => {}
            state => return Err(FopError::NoService { state }),
        }
        if self.waiting.is_some() {
            return Err(FopError::Busy);
        }
        self.names += 1;
        self.waiting = Some((self.names, data));
        Ok(self.names)
    }

    /// Takes data to be sent at once, without acknowledgement, in any state (E21).
    pub fn send_expedited(&mut self, data: Vec<u8>) {
        self.expedited.push_back(data);
    }

    /// The next frame to send, if there is one.
    pub fn poll_transmit(&mut self, now: Duration) -> Option<Transmit> {
        if self.expedited_ready
            && let Some(data) = self.expedited.pop_front()
        {
            self.expedited_ready = false;
            return Some(Transmit::Expedited(data));
        }
        if let Some((command, due)) = &mut self.command
            && self.control_ready
            && core::mem::take(due)
        {
            self.control_ready = false;
            return Some(Transmit::Control(*command));
        }
        if !self.sequenced_ready || !matches!(self.state, FopState::Active | FopState::Retransmit) {
            return None;
        }
        if let Some(Sent { number, data, .. }) = self.sent.take_again() {
            self.sequenced_ready = false;
            return Some(Transmit::Sequenced { number: *number, data: data.clone() });
        }
        if self.next.wrapping_sub(self.oldest) >= self.config.window {
            return None;
        }
        let (id, data) = self.waiting.take()?;
        let number = self.next;
        self.next = self.next.wrapping_add(1);
        if self.sent.is_empty() {
            self.transmissions = 1;
        }
        self.sent.push(Sent { id, number, data: data.clone(), again: false });
        self.start_timer(now);
        self.sequenced_ready = false;
        Some(Transmit::Sequenced { number, data })
    }

    /// The layer below took a frame of this kind (E41, E43, E45).
    pub fn accepted(&mut self, transmit: &Transmit) {
        match transmit {
            Transmit::Sequenced { .. } => self.sequenced_ready = true,
            Transmit::Expedited(_) => self.expedited_ready = true,
            Transmit::Control(_) => self.control_ready = true,
        }
    }

    /// The layer below refused a frame: the service ends (E42, E44, E46).
    pub fn refused(&mut self, transmit: &Transmit) {
        self.accepted(transmit);
        if self.state != FopState::Initial || matches!(transmit, Transmit::Expedited(_)) {
            self.alert(Alert::LowerLayer);
        }
    }

    /// Takes a report of the receiver (E1 to E15). Reports of other channels are passed over.
    pub fn handle_report(&mut self, now: Duration, report: &Clcw) {
        if report.channel != self.config.channel || self.state == FopState::Initial {
            return;
        }
        if report.cop != 1 {
            self.alert(Alert::Report);
            return;
        }
        if report.lockout {
            if self.state != FopState::AwaitCommand {
                self.alert(Alert::Lockout);
            }
            return;
        }
        let under_way = self.next.wrapping_sub(self.oldest);
        let acknowledged = report.report.wrapping_sub(self.oldest);
        if acknowledged > under_way {
            if self.state != FopState::AwaitCommand {
                self.alert(Alert::ReportedNumber);
            }
        } else if acknowledged == under_way {
            self.all_acknowledged(report, acknowledged);
        } else if report.retransmit {
            self.asked_again(now, report.wait, acknowledged);
        } else if report.wait {
            self.alert(Alert::Report);
        } else if acknowledged > 0 {
            self.acknowledge(acknowledged);
            self.state = FopState::Active;
        } else if self.state != FopState::Active {
            self.alert(Alert::Synchronisation);
        }
    }

    /// Every frame has arrived (E1 to E4).
    fn all_acknowledged(&mut self, report: &Clcw, acknowledged: u8) {
        let begins = matches!(self.state, FopState::AwaitReport | FopState::AwaitCommand);
        if report.retransmit {
            if self.state != FopState::AwaitCommand {
                self.alert(Alert::Synchronisation);
            }
        } else if report.wait {
            self.alert(Alert::Report);
        } else if begins {
            self.command = None;
            self.deadline = None;
            self.state = FopState::Active;
            self.notifications.push_back(Notification::Running);
        } else if acknowledged > 0 {
            self.acknowledge(acknowledged);
            self.deadline = None;
            self.state = FopState::Active;
        } else if self.state != FopState::Active {
            self.alert(Alert::Synchronisation);
        }
    }

    /// The receiver asks for frames again (E8 to E12, E101 to E103).
    fn asked_again(&mut self, now: Duration, wait: bool, acknowledged: u8) {
        let limit = self.config.transmission_limit;
        if acknowledged > 0 {
            self.acknowledge(acknowledged);
        }
        if limit == 1 {
            self.alert(Alert::Limit);
            return;
        }
        if wait {
            self.state = FopState::RetransmitWait;
            return;
        }
        let again = acknowledged > 0 || self.transmissions < limit && self.state != FopState::Retransmit;
        if again {
            self.send_again(now);
        }
        self.state = FopState::Retransmit;
    }

    fn acknowledge(&mut self, count: u8) {
        let delivered = self.sent.acknowledge(count.into());
        self.notifications.extend(delivered.into_iter().map(Notification::Delivered));
        self.oldest = self.oldest.wrapping_add(count);
        self.transmissions = 1;
    }

    fn send_again(&mut self, now: Duration) {
        self.transmissions += 1;
        self.start_timer(now);
        self.sent.again();
        if let Some((_, due)) = &mut self.command {
            *due = true;
        }
    }

    fn start_timer(&mut self, now: Duration) {
        self.deadline = Some(now + self.config.timer);
    }

    /// Looks at the timer (E16 to E18, E104).
    pub fn handle_timeout(&mut self, now: Duration) {
        if self.deadline.is_none_or(|deadline| now < deadline) {
            return;
        }
        self.deadline = None;
        let last = self.transmissions >= self.config.transmission_limit;
        let suspends = self.config.timeout_type == TimeoutType::Suspend;
        match self.state {
            FopState::Initial => {}
            FopState::AwaitReport if suspends => self.suspend(),
            FopState::AwaitReport => self.alert(Alert::Timer),
            FopState::AwaitCommand if last => self.alert(Alert::Timer),
            _ if last && suspends => self.suspend(),
            _ if last => self.alert(Alert::Timer),
            // The receiver has no room: sending again would not help.
            FopState::RetransmitWait => self.start_timer(now),
            FopState::Active | FopState::Retransmit | FopState::AwaitCommand => self.send_again(now),
        }
    }

    /// Does what the user asks for (E23 to E40).
    ///
    /// # Errors
    /// If it cannot be done in this state.
    pub fn direct(&mut self, now: Duration, directive: Directive) -> Result<(), FopError> {
        let initial = self.state == FopState::Initial;
        let refused = FopError::Directive { state: self.state, directive };
        match directive {
            Directive::InitiateWithoutReport if initial => {
                self.initialise();
                self.state = FopState::Active;
                self.notifications.push_back(Notification::Running);
            }
            Directive::InitiateWithReport if initial => {
                self.initialise();
                self.start_timer(now);
                self.state = FopState::AwaitReport;
            }
            Directive::InitiateWithUnlock if initial && self.control_ready => {
                self.begin_with(now, ControlCommand::Unlock);
            }
            Directive::InitiateWithSetVr(number) if initial && self.control_ready => {
                self.begin_with(now, ControlCommand::SetVr(number));
                self.next = number;
                self.oldest = number;
            }
            Directive::Terminate if initial => {}
            Directive::Terminate => self.alert(Alert::Terminated),
            Directive::Resume => {
                let state = self.suspended.take().filter(|_| initial).ok_or(refused)?;
                self.start_timer(now);
                self.state = state;
                self.notifications.push_back(Notification::Running);
            }
            Directive::SetVs(number) if initial && self.suspended.is_none() => {
                self.next = number;
                self.oldest = number;
            }
            Directive::SetWindow(0) => return Err(FopError::Zero { what: "the window" }),
            Directive::SetWindow(window) => self.config.window = window,
            Directive::SetTimer(timer) => self.config.timer = timer,
            Directive::SetTransmissionLimit(0) => {
                return Err(FopError::Zero { what: "the transmission limit" });
            }
            Directive::SetTransmissionLimit(limit) => self.config.transmission_limit = limit,
            Directive::SetTimeoutType(kind) => self.config.timeout_type = kind,
            _ => return Err(refused),
        }
        Ok(())
    }

    fn begin_with(&mut self, now: Duration, command: ControlCommand) {
        self.initialise();
        self.command = Some((command, true));
        self.start_timer(now);
        self.state = FopState::AwaitCommand;
    }

    fn initialise(&mut self) {
        self.purge();
        self.transmissions = 1;
        self.suspended = None;
    }

    fn suspend(&mut self) {
        self.suspended = Some(self.state);
        self.state = FopState::Initial;
        self.notifications.push_back(Notification::Suspended);
    }

    fn alert(&mut self, alert: Alert) {
        self.deadline = None;
        self.purge();
        self.suspended = None;
        self.state = FopState::Initial;
        self.notifications.push_back(Notification::Alert(alert));
    }

    /// Gives up what was sent and gives back what waits. The count goes on from the oldest number that is not
    /// acknowledged only if the user sets it.
    fn purge(&mut self) {
        let given_up = self.sent.purge();
        self.notifications.extend(given_up.into_iter().map(Notification::GivenUp));
        if let Some((id, _)) = self.waiting.take() {
            self.notifications.push_back(Notification::Rejected(id));
        }
        self.command = None;
        self.oldest = self.next;
    }
}

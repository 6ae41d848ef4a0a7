//! The receiver of COP-1: frame acceptance and reporting mechanism (FARM-1).

use crate::frame::{ControlCommand, TcFrame, TcService};
use crate::ocf::Clcw;

/// Where the receiver is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FarmState {
    /// It takes frames (S1).
    Open,
    /// It has no room (S2).
    Wait,
    /// It lost the sender's count and waits for an unlock command (S3).
    Lockout,
}

/// What became of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// Its data are to be passed on (events E1 and E6).
    Accepted,
    /// A control command was done (E7, E8).
    Commanded,
    /// There is no room: it will be sent again (E2).
    NoRoom,
    /// An earlier frame is missing: it will be sent again (E3).
    OutOfSequence,
    /// It came before (E4).
    Duplicate,
    /// Its number is far from what is expected: lockout (E5).
    OutsideWindow,
    /// In lockout nothing is taken in sequence.
    LockedOut,
    /// A control frame without a known command (E9).
    NoCommand,
}

/// Why there is no such receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the sliding window is {window}; it is an even number from 2 to 254")]
pub struct FarmError {
    /// The window asked for.
    pub window: u8,
}

/// The receiver of one virtual channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Farm {
    channel: u8,
    /// Half the sliding window: so many numbers ahead, and so many behind.
    half: u8,
    state: FarmState,
    /// V(R), the number expected next.
    expected: u8,
    lockout: bool,
    wait: bool,
    retransmit: bool,
    farm_b: u8,
}

impl Farm {
    /// A receiver of virtual channel `channel` that expects number 0; `window` is the sliding window W.
    ///
    /// # Errors
    /// If the window is odd, below 2 or above 254.
    pub fn new(channel: u8, window: u8) -> Result<Self, FarmError> {
        if !window.is_multiple_of(2) || window == 0 {
            return Err(FarmError { window });
        }
        Ok(Self {
            channel,
            half: window / 2,
            state: FarmState::Open,
            expected: 0,
            lockout: false,
            wait: false,
            retransmit: false,
            farm_b: 0,
        })
    }

    /// Where it is.
    #[must_use]
    pub fn state(&self) -> FarmState {
        self.state
    }

    /// V(R), the number expected next.
    #[must_use]
    pub fn expected(&self) -> u8 {
        self.expected
    }

    /// Judges a valid frame of its virtual channel; `room` says whether data can be taken now. Frames that do not decode,
    /// or that link security refuses, are not given to it (E9).
    pub fn receive(&mut self, frame: &TcFrame, room: bool) -> Verdict {
        match frame.service {
            TcService::SequenceControlled => self.in_sequence(frame.sequence, room),
            TcService::Expedited => {
                self.farm_b = self.farm_b.wrapping_add(1);
                Verdict::Accepted
            }
            TcService::Control => match ControlCommand::decode(&frame.data) {
                Some(command) => self.command(command),
                None => Verdict::NoCommand,
            },
        }
    }

    fn in_sequence(&mut self, number: u8, room: bool) -> Verdict {
        let ahead = number.wrapping_sub(self.expected);
        let behind = self.expected.wrapping_sub(number);
        let in_window = ahead < self.half || behind <= self.half;
        match self.state {
            FarmState::Lockout => Verdict::LockedOut,
            _ if !in_window => {
                self.lockout = true;
                self.state = FarmState::Lockout;
                Verdict::OutsideWindow
            }
            FarmState::Wait if ahead == 0 => Verdict::NoRoom,
            FarmState::Open if ahead == 0 && !room => {
                self.retransmit = true;
                self.wait = true;
                self.state = FarmState::Wait;
                Verdict::NoRoom
            }
            FarmState::Open if ahead == 0 => {
                self.expected = self.expected.wrapping_add(1);
                self.retransmit = false;
                Verdict::Accepted
            }
            state if ahead < self.half => {
                if state == FarmState::Open {
                    self.retransmit = true;
                }
                Verdict::OutOfSequence
            }
            _ => Verdict::Duplicate,
        }
    }

    fn command(&mut self, command: ControlCommand) -> Verdict {
        self.farm_b = self.farm_b.wrapping_add(1);
        match command {
            ControlCommand::Unlock => {
                self.lockout = false;
                self.wait = false;
                self.retransmit = false;
                self.state = FarmState::Open;
            }
            ControlCommand::SetVr(_) if self.state == FarmState::Lockout => {}
            ControlCommand::SetVr(number) => {
                self.wait = false;
                self.retransmit = false;
                self.expected = number;
                self.state = FarmState::Open;
            }
        }
        Verdict::Commanded
    }

    /// There is room again (E10).
    pub fn room(&mut self) {
        self.wait = false;
        if self.state == FarmState::Wait {
            self.state = FarmState::Open;
        }
    }

    /// What to report now (E11). Fields that are not the receiver's, such as `no_rf`, are for the caller to set.
    #[must_use]
    pub fn report(&self) -> Clcw {
        Clcw {
            status: 0,
            cop: 1,
            channel: self.channel,
            no_rf: false,
            no_bit_lock: false,
            lockout: self.lockout,
            wait: self.wait,
            retransmit: self.retransmit,
            farm_b: self.farm_b & 3,
            report: self.expected,
        }
    }
}

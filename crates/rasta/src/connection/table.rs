//! The state table: what each event does in each state. A pure function, so that the whole table can be tested.
//!
//! Source: `srstm_sr_state_machine.c` of SBB's stack (the numbers in brackets there are the actions of the standard),
//! held against `handlers.c` of librasta.

use crate::config::Role;
use crate::event::State;
use crate::reason::DisconnectReason;
use crate::reason::DisconnectReason::{
    ProtocolSequenceError, ProtocolVersionError, RetransmissionFailed, SequenceNumberError,
    ServiceNotAllowed, Timeout, UnexpectedMessage, UserRequest,
};

/// What can happen. Messages have passed all checks that make one be dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    /// The application opens.
    Open,
    /// The application closes.
    Close,
    /// The application sends.
    Send,
    /// ConnReq; whether its version is accepted.
    ConnectionRequest { version_fits: bool },
    /// ConnResp; whether its version is accepted.
    ConnectionResponse { version_fits: bool },
    /// RetrReq; whether its own number is the next one, and whether what it asks for is there.
    RetransmissionRequest { in_sequence: bool, available: bool },
    /// RetrResp.
    RetransmissionResponse,
    /// DiscReq.
    DisconnectionRequest,
    /// HB.
    Heartbeat(Order),
    /// Data.
    Data(Order),
    /// RetrData.
    RetransmittedData(Order),
    /// Nothing was sent for T_h.
    HeartbeatDue,
    /// The time-out T_i ran out.
    TimedOut,
}

/// How a message lies in its sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Order {
    /// Its sequence number is the next one.
    pub(crate) in_sequence: bool,
    /// Its confirmed time stamp lies within T_max after the last one.
    pub(crate) timely: bool,
}

/// What is to be done, beside the change of state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    /// Nothing; a message is dropped.
    Ignore,
    /// Numbers and redundancy channel are made ready; a client sends ConnReq.
    Open,
    /// DiscReq with the reason; the redundancy channel closes.
    Close(DisconnectReason),
    /// The redundancy channel closes without a word.
    Drop,
    /// Regular processing of the message ([3]), then this.
    Process(Then),
    /// The message's number is not taken, but what it confirms is; then everything is sent again, and if `request`, a
    /// RetrReq follows.
    RetransmitOutOfSequence { request: bool },
    /// The message is dropped and RetrReq sent.
    Request,
    /// The application's message goes out.
    Send,
    /// HB.
    Heartbeat,
}

/// What follows regular processing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    /// Nothing.
    Done,
    /// ConnResp.
    Respond,
    /// HB.
    Heartbeat,
    /// RetrResp and everything that is not confirmed.
    Retransmit,
}

/// The row of `state` and the column of `input`.
pub(crate) fn step(role: Role, state: State, input: Input) -> (Act, State) {
    match state {
        State::Closed => closed(role, input),
        State::Down => down(input),
        State::Start => start(role, input),
        State::Up => up(input),
        State::RetransmissionRequested => requested(input),
        State::RetransmissionRunning => running(input),
    }
}

const fn close(reason: DisconnectReason) -> (Act, State) {
    (Act::Close(reason), State::Closed)
}

const DROP: (Act, State) = (Act::Drop, State::Closed);

fn closed(role: Role, input: Input) -> (Act, State) {
    match (input, role) {
        (Input::Open, Role::Server) => (Act::Open, State::Down),
        (Input::Open, Role::Client) => (Act::Open, State::Start),
        _ => (Act::Ignore, State::Closed),
    }
}

fn down(input: Input) -> (Act, State) {
    match input {
        Input::Open | Input::Close | Input::Send => DROP,
        Input::ConnectionRequest { version_fits: true } => (Act::Process(Then::Respond), State::Start),
        Input::ConnectionRequest { version_fits: false } => close(ProtocolVersionError),
        _ => (Act::Ignore, State::Down),
    }
}

fn start(role: Role, input: Input) -> (Act, State) {
    match (input, role) {
        (Input::Open | Input::Send, _) => close(ServiceNotAllowed),
        (Input::Close, _) => close(UserRequest),
        (Input::ConnectionResponse { version_fits: true }, Role::Client) => {
            (Act::Process(Then::Heartbeat), State::Up)
        }
        (Input::ConnectionResponse { version_fits: false }, Role::Client) => close(ProtocolVersionError),
        (Input::DisconnectionRequest, _) => DROP,
        (Input::Heartbeat(Order { in_sequence: false, .. }), Role::Server) => close(SequenceNumberError),
        (Input::Heartbeat(Order { timely: false, .. }), Role::Server) => close(ProtocolSequenceError),
        (Input::Heartbeat(_), Role::Server) => (Act::Process(Then::Done), State::Up),
        (Input::HeartbeatDue, Role::Server) => (Act::Heartbeat, State::Start),
        (Input::HeartbeatDue, Role::Client) => (Act::Ignore, State::Start),
        (Input::TimedOut, _) => close(Timeout),
        (
            Input::ConnectionRequest { .. }
            | Input::ConnectionResponse { .. }
            | Input::RetransmissionRequest { .. }
            | Input::RetransmissionResponse
            | Input::Data(_)
            | Input::RetransmittedData(_)
            | Input::Heartbeat(_),
            _,
        ) => close(UnexpectedMessage),
    }
}

fn up(input: Input) -> (Act, State) {
    match input {
        Input::Send => (Act::Send, State::Up),
        Input::RetransmissionRequest { available: false, .. } => close(RetransmissionFailed),
        Input::RetransmissionRequest { in_sequence: true, .. } => (Act::Process(Then::Retransmit), State::Up),
        Input::RetransmissionRequest { in_sequence: false, .. } => {
            (Act::RetransmitOutOfSequence { request: true }, State::RetransmissionRequested)
        }
        Input::Heartbeat(order) | Input::Data(order) => in_order(order, State::Up),
        Input::HeartbeatDue => (Act::Heartbeat, State::Up),
        _ => whenever_open(input),
    }
}

fn requested(input: Input) -> (Act, State) {
    match input {
        Input::Send => (Act::Send, State::RetransmissionRequested),
        Input::RetransmissionRequest { available: false, .. } => close(RetransmissionFailed),
        Input::RetransmissionRequest { in_sequence: true, .. } => {
            (Act::Process(Then::Retransmit), State::RetransmissionRequested)
        }
        Input::RetransmissionRequest { in_sequence: false, .. } => {
            (Act::RetransmitOutOfSequence { request: false }, State::RetransmissionRequested)
        }
        Input::RetransmissionResponse => (Act::Process(Then::Done), State::RetransmissionRunning),
        Input::Heartbeat(_) | Input::Data(_) | Input::RetransmittedData(_) => {
            (Act::Ignore, State::RetransmissionRequested)
        }
        Input::HeartbeatDue => (Act::Heartbeat, State::RetransmissionRequested),
        _ => whenever_open(input),
    }
}

fn running(input: Input) -> (Act, State) {
    match input {
        Input::Send => (Act::Send, State::RetransmissionRunning),
        Input::RetransmissionRequest { in_sequence: true, .. } => close(UnexpectedMessage),
        Input::RetransmissionRequest { available: false, .. } => close(RetransmissionFailed),
        Input::RetransmissionRequest { .. } => {
            (Act::RetransmitOutOfSequence { request: true }, State::RetransmissionRequested)
        }
        Input::Heartbeat(order) | Input::Data(order) => in_order(order, State::Up),
        Input::RetransmittedData(order) => in_order(order, State::RetransmissionRunning),
        Input::HeartbeatDue => (Act::Heartbeat, State::RetransmissionRunning),
        _ => whenever_open(input),
    }
}

/// Heartbeats and data where they are expected; `next` if all is well with it.
const fn in_order(order: Order, next: State) -> (Act, State) {
    match order {
        Order { in_sequence: false, .. } => (Act::Request, State::RetransmissionRequested),
        Order { timely: false, .. } => close(ProtocolSequenceError),
        Order { .. } => (Act::Process(Then::Done), next),
    }
}

/// What is the same in the three states in which data flow; everything else is unexpected there.
const fn whenever_open(input: Input) -> (Act, State) {
    match input {
        Input::Open => close(ServiceNotAllowed),
        Input::Close => close(UserRequest),
        Input::DisconnectionRequest => DROP,
        Input::TimedOut => close(Timeout),
        _ => close(UnexpectedMessage),
    }
}

#[cfg(test)]
mod tests;

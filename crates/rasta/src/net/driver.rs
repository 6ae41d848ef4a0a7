//! The task that has an end and feeds it: commands of the application, frames of the channels, the time.

use std::collections::VecDeque;

use tokio::sync::{mpsc, oneshot};

use super::refused::Refused;
use super::types::{PortEvent, Report};
use super::wires::{Command, Input, Output};
use crate::config::Role;
use crate::endpoint::{Endpoint, SendError};
use crate::time::Instant;

/// Who waits to hear whether a message was taken.
type Answer = oneshot::Sender<Result<(), SendError>>;

/// What the driver woke for.
enum Next {
    Command(Option<Command>),
    Input(Input),
    Told,
    Due,
}

pub(super) struct Driver {
    endpoint: Endpoint,
    commands: mpsc::Receiver<Command>,
    events: mpsc::Sender<PortEvent>,
    inputs: mpsc::Receiver<Input>,
    outputs: Vec<mpsc::Sender<Output>>,
    up: Vec<bool>,
    received: Vec<u64>,
    refused: Refused,
    sent: Vec<u64>,
    not_sent: Vec<u64>,
    /// Events for which the application has no place yet.
    backlog: VecDeque<PortEvent>,
    /// A message that waits for confirmations.
    parked: Option<(Vec<u8>, Answer)>,
    /// A client that waits for its channels opens then, even without them.
    open_at: Option<Instant>,
    began: tokio::time::Instant,
}

impl Driver {
    pub(super) fn new(
        endpoint: Endpoint,
        commands: mpsc::Receiver<Command>,
        events: mpsc::Sender<PortEvent>,
        inputs: mpsc::Receiver<Input>,
        outputs: Vec<mpsc::Sender<Output>>,
    ) -> Self {
        let channels = outputs.len();
        Self {
            endpoint,
            commands,
            events,
            inputs,
            outputs,
            up: vec![false; channels],
            received: vec![0; channels],
            refused: Refused::default(),
            sent: vec![0; channels],
            not_sent: vec![0; channels],
            backlog: VecDeque::new(),
            parked: None,
            open_at: None,
            began: tokio::time::Instant::now(),
        }
    }

    fn now(&self) -> Instant {
        Instant::ZERO + self.began.elapsed()
    }

    /// Works until the application drops its port; an open connection is closed then.
    pub(super) async fn run(mut self) {
        loop {
            self.settle();
            // While the application does not take its events, nothing more is read: the peer's window fills.
            let takes_frames = self.backlog.len() < usize::from(self.endpoint.config().n_send_max);
            let wake = [self.endpoint.poll_timeout(), self.open_at].into_iter().flatten().min();
            let at = wake.map(|wake| self.began + wake.saturating_since(Instant::ZERO));
            let next = tokio::select! {
                command = self.commands.recv(), if self.parked.is_none() => Next::Command(command),
                Some(input) = self.inputs.recv(), if takes_frames => Next::Input(input),
                Ok(place) = self.events.reserve(), if !self.backlog.is_empty() => {
                    place.send(self.backlog.pop_front().expect("it is not empty"));
                    Next::Told
                }
                () = sleep_until(at), if at.is_some() => Next::Due,
            };
            match next {
                Next::Command(Some(command)) => self.command(command).await,
                Next::Command(None) => break,
                Next::Input(input) => self.input(input),
                Next::Told => {}
                Next::Due => self.wake(),
            }
        }
        self.close(0).await;
    }

    async fn command(&mut self, command: Command) {
        let now = self.now();
        match command {
            Command::Open => {
                let waits = self.endpoint.config().role == Role::Client && !self.up.iter().all(|up| *up);
                if waits {
                    self.open_at = Some(now + self.endpoint.config().t_max);
                } else {
                    self.open();
                }
            }
            Command::Send { message, answer } => self.send(message, answer),
            Command::Close { detail, answer } => {
                self.close(detail).await;
                // Nobody waits any more: nothing to say.
                let _ = answer.send(());
            }
            Command::Report { answer } => {
                let _ = answer.send(self.report());
            }
        }
    }

    fn open(&mut self) {
        self.open_at = None;
        // An end that is open stays as it is.
        let _ = self.endpoint.open(self.now());
    }

    fn send(&mut self, message: Vec<u8>, answer: Answer) {
        match self.endpoint.send(self.now(), message.clone()) {
            Err(SendError::Full(_)) => self.parked = Some((message, answer)),
            // Who dropped the future does not want to know.
            outcome => drop(answer.send(outcome)),
        }
    }

    async fn close(&mut self, detail: u16) {
        self.open_at = None;
        self.endpoint.close(self.now(), detail);
        self.settle();
        let flush = async {
            for (channel, output) in self.outputs.iter().enumerate() {
                let (answer, answered) = oneshot::channel();
                if self.up[channel] && output.send(Output::Flushed(answer)).await.is_ok() {
                    // A channel that breaks now has nothing more to say.
                    let _ = answered.await;
                }
            }
        };
        // A peer that does not read must not keep this end from ending.
        let _ = tokio::time::timeout(self.endpoint.config().t_max, flush).await;
    }

    fn input(&mut self, input: Input) {
        match input {
            Input::Frame { channel, octets } => {
                self.received[channel] += 1;
                let now = self.now();
                self.taking(|endpoint| endpoint.handle(now, channel, &octets));
            }
            Input::Refused { channel, why } => {
                self.received[channel] += 1;
                self.refuse(why);
            }
            Input::Up { channel } => {
                self.up[channel] = true;
                self.backlog.push_back(PortEvent::ChannelUp { channel });
                if self.open_at.is_some() && self.up.iter().all(|up| *up) {
                    self.open();
                }
            }
            Input::Down { channel, why } => {
                self.up[channel] = false;
                self.backlog.push_back(PortEvent::ChannelDown { channel, why });
            }
        }
    }

    fn wake(&mut self) {
        let now = self.now();
        if self.open_at.is_some_and(|at| at <= now) {
            self.open();
        }
        // What waited for others comes to its turn.
        self.taking(|endpoint| endpoint.handle_timeout(now));
    }

    /// Lets the end take what came, and tells what it refused of it.
    fn taking(&mut self, take: impl FnOnce(&mut Endpoint)) {
        let before = Refused::by(&self.endpoint);
        take(&mut self.endpoint);
        self.refuse(Refused::by(&self.endpoint).since(before));
    }

    /// Counts, and tells of the first and whenever there are twice as many: strangers may send as many as they like.
    fn refuse(&mut self, more: Refused) {
        let before = self.refused.frames().checked_ilog2();
        self.refused += more;
        if self.refused.frames().checked_ilog2() > before {
            self.backlog.push_back(PortEvent::Refused(self.refused));
        }
    }

    /// Frames to their channels, events to the backlog, and the message that waits once more.
    fn settle(&mut self) {
        if let Some((message, answer)) = self.parked.take() {
            if answer.is_closed() {
                // The future was dropped: the message is not to be sent.
            } else {
                self.send(message, answer);
            }
        }
        while let Some(transmit) = self.endpoint.poll_transmit() {
            let output = &self.outputs[transmit.channel];
            let goes = self.up[transmit.channel] && output.try_send(Output::Frame(transmit.frame)).is_ok();
            let count = if goes { &mut self.sent } else { &mut self.not_sent };
            count[transmit.channel] += 1;
        }
        while let Some(event) = self.endpoint.poll_event() {
            self.backlog.push_back(PortEvent::Rasta(event));
        }
    }

    fn report(&self) -> Report {
        let channels = 0..self.outputs.len();
        Report {
            state: self.endpoint.state(),
            connection: self.endpoint.connection_report(),
            channels: channels.filter_map(|channel| self.endpoint.channel_report(channel)).collect(),
            frames: self.endpoint.frame_counters(),
            received: self.received.clone(),
            refused: self.refused,
            sent: self.sent.clone(),
            not_sent: self.not_sent.clone(),
            unconfirmed: self.endpoint.unconfirmed(),
        }
    }
}

async fn sleep_until(at: Option<tokio::time::Instant>) {
    if let Some(at) = at {
        tokio::time::sleep_until(at).await;
    }
}

//! What a run is played on: how its time goes, where the halves of its flows run, and what they use up.
//!
//! ```text
//!   virtual_time/  the guest kernel, whose first process this is: time stands still while anything computes, nodes
//!                  are namespaces, the halves of flows are threads in them, waiting is free
//!   host/          the kernel of the machine: real time, namespaces of its own, a process and a control group for
//!                  each node that has something to do
//! ```

pub mod host;
pub mod virtual_time;

use std::path::PathBuf;
use std::process::Command;
use std::sync::mpsc::Sender;

use netlab::{BuildOptions, Network, Node, RunClock};
use serde::{Deserialize, Serialize};
use workload::{ClientHalf, ClientResult, ServerHalf, ServerResult};

use crate::failure::Result;
use crate::gate::Pass;
use crate::plan::Run;
use crate::record::{Guest, NodeUsage};

/// One half of a flow, to be run in its node.
pub enum Half {
    /// The receiving one.
    Receiver(ServerHalf),
    /// The sending one.
    Sender(ClientHalf),
}

/// What a half noted.
#[derive(Debug, Serialize, Deserialize)]
pub enum Noted {
    /// The receiving one.
    Received(ServerResult),
    /// The sending one.
    Sent(ClientResult),
}

/// Waits for the end of a half; nothing when a defect of this program ended it.
pub type Wait = Box<dyn FnOnce() -> Option<Noted> + Send>;

/// Puts a program of the user's own into the books of its node.
pub type Enlist = std::sync::Arc<dyn Fn(&mut Command) + Send + Sync>;

/// How the time of a ground goes.
#[derive(Debug, Clone, Copy)]
pub struct Time {
    /// The clock of the run that begins now.
    pub clock: RunClock,
    /// Whether it stands still while anything computes.
    pub stands_still: bool,
    /// How long a receiver of datagrams goes on after the last one.
    pub quiet_ns: i64,
}

impl Time {
    /// The same clock as transports read it.
    pub fn transports_clock(&self) -> transports::Clock {
        transports::Clock::new(self.clock.to_monotonic_ns(0), self.stands_still)
    }
}

/// What a run is played on.
pub trait Ground: Send {
    /// Its name in a record.
    fn name(&self) -> &'static str;

    /// Starts the clock of a run; returns at its zero.
    ///
    /// # Errors
    /// The kernel has no clock.
    fn clock(&mut self) -> Result<Time>;

    /// Gets ready for a run; how its network is to be made.
    ///
    /// # Errors
    /// The run cannot be played here, with the reason.
    fn prepare(&mut self, run: &Run) -> Result<BuildOptions>;

    /// Has a half of the flow number `flow` run in a node, once `gate` opens and [`Ground::begin`] was called; `ended`
    /// hears of its end.
    ///
    /// # Errors
    /// It could not be started.
    fn spawn_in_node(
        &mut self,
        node: &Node,
        flow: usize,
        half: Half,
        gate: &Pass,
        ended: &Sender<()>,
    ) -> Result<Wait>;

    /// What puts the programs of a node into its books.
    ///
    /// # Errors
    /// They could not be opened.
    fn enlist(&mut self, node: &str) -> Result<Enlist>;

    /// Starts what was spawned, as far as that waits for being known as a whole.
    ///
    /// # Errors
    /// It could not be started.
    fn begin(&mut self, network: &Network) -> Result<()>;

    /// What each node has used up, once all halves and programs have ended; nothing where computing costs nothing.
    ///
    /// # Errors
    /// The books could not be read.
    fn usage(&mut self, network: &Network) -> Result<Vec<NodeUsage>>;

    /// Ends the run on this ground and says what it was played on.
    ///
    /// # Errors
    /// A defect of what the ground had running.
    fn end(&mut self, network: &Network) -> Result<Guest>;

    /// Whether datagrams are handed to the kernel ahead of time, which needs fq on the sender's interface.
    fn releases_ahead(&self) -> bool;

    /// A folder in memory for what programs of the user's own are told and leave.
    fn scratch(&self) -> PathBuf;
}

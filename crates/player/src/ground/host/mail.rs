//! What the process of a node and the player tell each other: one JSON object a line.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use transports::News;

use crate::ground::Noted;

/// To the process of a node.
#[derive(Debug, Serialize, Deserialize)]
pub enum ToNode {
    /// The run begins.
    Go,
    /// What the other half of a flow tells.
    News { flow: usize, news: News },
    /// The other half has heard of the sender's end.
    Heard { flow: usize },
}

/// From the process of a node.
#[derive(Debug, Serialize, Deserialize)]
pub enum FromNode {
    /// It stands in its namespace and its group.
    Ready,
    /// What a half tells the other one.
    News { flow: usize, news: News },
    /// A half has heard of the sender's end.
    Heard { flow: usize },
    /// What a half noted, once it has ended, and the secrets of its sessions.
    Noted { flow: usize, noted: Box<Noted>, keys: String },
    /// Everything has ended: the process's CPU time.
    Over { cpu_ns: u64 },
}

/// The sending end; copies are of the same one.
#[derive(Clone)]
pub struct Post(Arc<Mutex<UnixStream>>);

impl Post {
    /// Sends by `stream`.
    ///
    /// # Errors
    /// There are no file descriptors left.
    pub fn new(stream: &UnixStream) -> std::io::Result<Post> {
        Ok(Post(Arc::new(Mutex::new(stream.try_clone()?))))
    }

    /// Sends a message; one to a process that has gone is lost, which its reader finds out.
    pub fn send(&self, message: &impl Serialize) {
        if let Ok(mut line) = serde_json::to_vec(message) {
            line.push(b'\n');
            let _ = self.0.lock().unwrap_or_else(PoisonError::into_inner).write_all(&line);
        }
    }
}

/// Messages as they come, until the other process hangs up or says what is none.
pub fn inbox<T: DeserializeOwned>(stream: UnixStream) -> impl Iterator<Item = T> {
    let mut reader = BufReader::new(stream);
    std::iter::from_fn(move || {
        let mut line = Vec::new();
        match reader.read_until(b'\n', &mut line) {
            Ok(count) if count > 0 => serde_json::from_slice(&line).ok(),
            _ => None,
        }
    })
}

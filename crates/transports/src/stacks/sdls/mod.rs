//! Telecommands as CCSDS has them: messages as space packets in TC frames under link security (SDLS), a UDP datagram a
//! frame. `sdls` sends each frame once; with `sdls-cop1` a lost one comes again (COP-1: FOP-1 sends, FARM-1 receives and
//! reports).
//!
//! Both ends share keys and parameters from the beginning, as a mission loads them before launch, so that no session is
//! opened: nothing is authenticated but frames, and nothing is secret any more once a key is known.

mod alone;
mod cop1;
mod frames;
mod reliable;

use std::net::SocketAddr;
use std::sync::Arc;

use sdls::cop1::{FopConfig, TimeoutType};
use serde::Deserialize;
use serde_json::{Map, Value};
use socket2::{Protocol, Socket, Type};

use self::alone::{AloneConnection, AloneListener};
use self::cop1::{Receiving, Sending};
use self::frames::{Cipher, End, Frames};
use self::reliable::{ReliableListener, ReliableSender, Wire};
use crate::error::{Failure, SpecError};
use crate::kernel::datagram::{self, DatagramConnection, DatagramListener};
use crate::kernel::socket;
use crate::params::{nanoseconds, parse_params};
use crate::session::Session;
use crate::transport::{Connection, Listener, Service, Stack};

const ALONE: &str = "sdls";
const RELIABLE: &str = "sdls-cop1";

/// The longest TC frame: its length field has ten bits (CCSDS 232.0-B).
const LARGEST_FRAME: u16 = 1024;

/// The shortest frame with room for some data beside header, security and error control.
const SMALLEST_FRAME: u16 = 64;

/// Defaults of COP-1, as a public ground system has them: T1 3 s and a window of 10 frames are Yamcs's own, a
/// transmission limit of 3 is that of its example (yamcs/yamcs, docs/server-manual/links/ccsds-frame-processing.rst).
const TIMER_S: f64 = 3.0;
const WINDOW_FRAMES: u8 = 10;
const TRANSMISSION_LIMIT: u32 = 3;

/// How often the receiver reports, beside at once when a frame came: a second, as telemetry that nobody hurries.
const REPORT_INTERVAL_S: f64 = 1.0;

/// The most frames under way: FARM-1's sliding window has at most 254 numbers, half of them ahead (CCSDS 232.1-B).
const LARGEST_WINDOW: u8 = 127;

/// The shortest timer and interval.
const SHORTEST_S: f64 = 1e-3;

/// SDLS alone, as a plan names its parameters.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AloneParams {
    #[serde(default)]
    cipher: Cipher,
    #[serde(default = "largest_frame")]
    frame_bytes: u16,
}

/// SDLS with COP-1, as a plan names its parameters.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReliableParams {
    #[serde(default)]
    cipher: Cipher,
    #[serde(default = "largest_frame")]
    frame_bytes: u16,
    /// K, the most frames under way.
    #[serde(default = "window_frames")]
    window_frames: u8,
    /// T1, after which frames that were not acknowledged are sent again.
    #[serde(default = "timer_s")]
    timer_s: f64,
    /// How often a frame is sent at most.
    #[serde(default = "transmission_limit")]
    transmission_limit: u32,
    /// How often the receiver reports though nothing came.
    #[serde(default = "report_interval_s")]
    report_interval_s: f64,
}

fn largest_frame() -> u16 {
    LARGEST_FRAME
}

fn window_frames() -> u8 {
    WINDOW_FRAMES
}

fn timer_s() -> f64 {
    TIMER_S
}

fn transmission_limit() -> u32 {
    TRANSMISSION_LIMIT
}

fn report_interval_s() -> f64 {
    REPORT_INTERVAL_S
}

/// What both have in common.
#[derive(Clone, Copy)]
struct Common {
    name: &'static str,
    cipher: Cipher,
    frame_bytes: u16,
}

impl Common {
    fn new(name: &'static str, cipher: Cipher, frame_bytes: u16) -> Result<Self, SpecError> {
        if !(SMALLEST_FRAME..=LARGEST_FRAME).contains(&frame_bytes) {
            return Err(wrong(
                name,
                format!("`frame_bytes` is {frame_bytes}; a TC frame has {SMALLEST_FRAME} to {LARGEST_FRAME}"),
            ));
        }
        Ok(Self { name, cipher, frame_bytes })
    }

    fn frames(&self, session: &Session, end: End, message_bytes: u32) -> Result<Frames, Failure> {
        Frames::new(session.ctx.seed, end, self.cipher, self.frame_bytes.into(), message_bytes)
    }

    fn open(&self, at: SocketAddr) -> Result<Socket, Failure> {
        socket::open(self.name, Type::DGRAM, Some(Protocol::UDP), at)
    }
}

fn wrong(stack: &str, sentence: impl std::fmt::Display) -> SpecError {
    SpecError::new(format!("`stack_params` of `{stack}`: {sentence}"))
}

/// SDLS alone.
struct Alone(Common);

pub(super) fn build_alone(params: &Map<String, Value>) -> Result<Box<dyn Stack>, SpecError> {
    let AloneParams { cipher, frame_bytes } = parse_params("stack_params", ALONE, params)?;
    Ok(Box::new(Alone(Common::new(ALONE, cipher, frame_bytes)?)))
}

impl Stack for Alone {
    fn name(&self) -> &'static str {
        ALONE
    }

    fn service(&self) -> Service {
        Service::Datagrams
    }

    fn listen(&self, session: &Arc<Session>, message_bytes: u32) -> Result<Box<dyn Listener>, Failure> {
        let frames = self.0.frames(session, End::Space, message_bytes)?;
        let socket = self.0.open(session.ctx.destination)?;
        let datagrams = DatagramListener::boxed(socket, session, self.0.frame_bytes.into())?;
        Ok(Box::new(AloneListener::new(datagrams, frames)))
    }

    fn connect(&self, session: &Arc<Session>, message_bytes: u32) -> Result<Box<dyn Connection>, Failure> {
        let frames = self.0.frames(session, End::Ground, message_bytes)?;
        let socket = self.0.open(session.ctx.source)?;
        datagram::connect(&socket, session)?;
        let datagrams = DatagramConnection::boxed(socket, session, false)?;
        Ok(Box::new(AloneConnection::new(datagrams, frames)))
    }
}

/// SDLS with COP-1.
struct Reliable {
    common: Common,
    fop: FopConfig,
    report_interval_ns: i64,
}

pub(super) fn build_reliable(params: &Map<String, Value>) -> Result<Box<dyn Stack>, SpecError> {
    let params: ReliableParams = parse_params("stack_params", RELIABLE, params)?;
    let common = Common::new(RELIABLE, params.cipher, params.frame_bytes)?;
    let ReliableParams { window_frames, transmission_limit, .. } = params;
    if !(1..=LARGEST_WINDOW).contains(&window_frames) {
        return Err(wrong(
            RELIABLE,
            format!("`window_frames` is {window_frames}; K is from 1 to {LARGEST_WINDOW}"),
        ));
    }
    if transmission_limit == 0 {
        return Err(wrong(RELIABLE, "`transmission_limit` is 0; a frame is sent at least once"));
    }
    let duration =
        |key, value_s| nanoseconds(key, value_s, SHORTEST_S).map_err(|error| wrong(RELIABLE, error));
    let fop = FopConfig {
        channel: frames::CHANNEL,
        window: window_frames,
        timer: std::time::Duration::from_nanos(duration("timer_s", params.timer_s)? as u64),
        transmission_limit,
        timeout_type: TimeoutType::Alert,
    };
    let report_interval_ns = duration("report_interval_s", params.report_interval_s)?;
    Ok(Box::new(Reliable { common, fop, report_interval_ns }))
}

impl Stack for Reliable {
    fn name(&self) -> &'static str {
        RELIABLE
    }

    fn service(&self) -> Service {
        Service::Messages { streams: 1 }
    }

    fn listen(&self, session: &Arc<Session>, message_bytes: u32) -> Result<Box<dyn Listener>, Failure> {
        let frames = self.common.frames(session, End::Space, message_bytes)?;
        let wire = Wire::new(self.common.open(session.ctx.destination)?, session)?;
        let receiving = Receiving::new(frames, self.fop.window)?;
        Ok(Box::new(ReliableListener::new(wire, receiving, self.report_interval_ns)))
    }

    fn connect(&self, session: &Arc<Session>, message_bytes: u32) -> Result<Box<dyn Connection>, Failure> {
        let frames = self.common.frames(session, End::Ground, message_bytes)?;
        let wire = Wire::new(self.common.open(session.source())?, session)?;
        let sending = Sending::new(frames, self.fop.clone(), wire.now())?;
        Ok(Box::new(ReliableSender::new(wire, sending)))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    type Build = fn(&Map<String, Value>) -> Result<Box<dyn Stack>, SpecError>;

    fn sentence(build: Build, params: Value) -> String {
        let params = params.as_object().expect("an object").clone();
        build(&params).err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn mistakes_are_sentences() {
        let cases = [
            (json!({"frame_bytes": 1025}), "`frame_bytes` is 1025; a TC frame has 64 to 1024"),
            (json!({"cipher": "rot13"}), "unknown variant `rot13`"),
            (json!({"window_frames": 128}), "K is from 1 to 127"),
            (json!({"timer_s": 0}), "`timer_s` is 0"),
            (json!({"transmission_limit": 0}), "sent at least once"),
        ];
        for (params, part) in cases {
            let found = sentence(build_reliable, params);
            assert!(found.contains(part), "{found}");
        }
        assert!(sentence(build_alone, json!({"timer_s": 3})).contains("unknown field"));
    }
}

//! The server: answers each stream, notes when how much of an upload has arrived, and ends with its connection.

use std::ptr;
use std::sync::mpsc::{Sender, channel};

use msquic::{
    Addr, BufferRef, CertificateFile, Connection, ConnectionEvent, Credential, CredentialConfig, Listener,
    ListenerEvent, SendFlags, Status, StatusCode, Stream, StreamEvent, StreamRef,
};
use serde_json::json;

use crate::task::{Failure, PROTOCOL, Task, Work, failed, now_ns, variable, write_result};
use crate::zeros::zeros;

/// The length of the number that a stream begins with.
const REQUEST_BYTES: u64 = 8;

/// What MsQuic's thread hands to the main one, which closes it at the end: a handle must not be closed within its
/// own callback.
enum Event {
    Opened(Connection),
    Asked(Stream),
    /// So many bytes of an upload had arrived at this instant (nanoseconds of CLOCK_REALTIME).
    Arrived(u64, u64),
    Over,
}

/// Errors: MsQuic does not listen at the address.
pub fn serve(task: &Task) -> Result<(), Failure> {
    let certificate = CertificateFile::new(variable("GAUNTLET_KEY")?, variable("GAUNTLET_CERTIFICATE")?);
    let credentials = CredentialConfig::new().set_credential(Credential::CertificateFile(certificate));
    let (registration, configuration) = task.msquic(&credentials)?;

    let (tell, events) = channel();
    let listener = Listener::open(&registration, move |_, event| {
        if let ListenerEvent::NewConnection { connection, .. } = event {
            let of_connection = tell.clone();
            connection.set_callback_handler(move |_, event| {
                on_connection(&of_connection, event);
                Ok(())
            });
            connection.set_configuration(&configuration)?;
            // SAFETY: a connection that a listener accepts is the application's, and this is the only owner.
            let _ = tell.send(Event::Opened(unsafe { Connection::from_raw(connection.as_raw()) }));
        }
        Ok(())
    })
    .map_err(failed("MsQuic opens no listener"))?;
    listener
        .start(&[BufferRef::from(PROTOCOL)], Some(&Addr::from(task.server)))
        .map_err(failed("MsQuic does not listen"))?;
    println!("GAUNTLET READY");

    let (mut connections, mut streams, mut received) = (Vec::new(), Vec::new(), Vec::new());
    for event in events {
        match event {
            Event::Opened(connection) => connections.push(connection),
            Event::Asked(stream) => streams.push(stream),
            Event::Arrived(at_ns, bytes) => received.push([at_ns, bytes]),
            Event::Over => break,
        }
    }
    // In MsQuic's order: streams before their connection, and both before the listener.
    drop(streams);
    drop(connections);
    match task.work {
        Work::Upload(_) => write_result(json!({ "received": received })),
        Work::Fetch(_) => Ok(()),
    }
}

fn on_connection(tell: &Sender<Event>, event: ConnectionEvent<'_>) {
    // What is sent fails only when the main thread has ended.
    let _ = match event {
        ConnectionEvent::PeerStreamStarted { stream, .. } => {
            answer(&stream, tell.clone());
            // SAFETY: a stream that the peer starts is the application's, and this is the only owner.
            tell.send(Event::Asked(unsafe { Stream::from_raw(stream.as_raw()) }))
        }
        ConnectionEvent::ShutdownComplete { .. } => tell.send(Event::Over),
        _ => return,
    };
}

/// Have a stream answered when all that the client sends over it is there.
fn answer(stream: &StreamRef, tell: Sender<Event>) {
    let mut request = Vec::new();
    // Dropped with the callback, which is when the stream has been closed.
    let mut sent = Vec::new();
    stream.set_callback_handler(move |stream, event| {
        match event {
            StreamEvent::Receive { absolute_offset, total_buffer_length, buffers, .. } => {
                let missing = REQUEST_BYTES as usize - request.len();
                request.extend(buffers.iter().flat_map(BufferRef::as_bytes).take(missing));
                let uploaded_bytes = (absolute_offset + *total_buffer_length).saturating_sub(REQUEST_BYTES);
                if uploaded_bytes > 0 {
                    let _ = tell.send(Event::Arrived(now_ns(), uploaded_bytes));
                }
            }
            StreamEvent::PeerSendShutdown => {
                let wanted = request.as_slice().try_into().map_err(|_| not_a_request())?;
                sent.extend(zeros(u64::from_be_bytes(wanted)));
                // SAFETY: `sent` and what it refers to live until the stream is closed.
                unsafe { stream.send(&sent, SendFlags::FIN, ptr::null()) }?;
            }
            _ => {}
        }
        Ok(())
    });
}

fn not_a_request() -> Status {
    StatusCode::QUIC_STATUS_PROTOCOL_ERROR.into()
}

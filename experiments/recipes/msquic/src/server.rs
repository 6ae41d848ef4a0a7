//! The server: answers each stream with as many bytes as it asks for, and ends with its connection.

use std::ptr;
use std::sync::mpsc::{Sender, channel};

use msquic::{
    Addr, BufferRef, CertificateFile, Connection, ConnectionEvent, Credential, CredentialConfig, Listener,
    ListenerEvent, SendFlags, Status, StatusCode, Stream, StreamEvent, StreamRef,
};

use crate::task::{Failure, PROTOCOL, Task, failed, variable};

/// What is sent, again and again.
static ZEROS: [u8; 65536] = [0; 65536];

/// What MsQuic's thread hands to the main one, which closes it at the end: a handle must not be closed within its
/// own callback.
enum Event {
    Opened(Connection),
    Asked(Stream),
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
            let tell_more = tell.clone();
            connection.set_callback_handler(move |_, event| {
                on_connection(&tell_more, event);
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

    let (mut connections, mut streams) = (Vec::new(), Vec::new());
    for event in events {
        match event {
            Event::Opened(connection) => connections.push(connection),
            Event::Asked(stream) => streams.push(stream),
            Event::Over => break,
        }
    }
    // In MsQuic's order: streams before their connection, and both before the listener.
    drop(streams);
    drop(connections);
    Ok(())
}

fn on_connection(tell: &Sender<Event>, event: ConnectionEvent<'_>) {
    // What is sent fails only when the main thread has ended.
    let _ = match event {
        ConnectionEvent::PeerStreamStarted { stream, .. } => {
            answer(&stream);
            // SAFETY: a stream that the peer starts is the application's, and this is the only owner.
            tell.send(Event::Asked(unsafe { Stream::from_raw(stream.as_raw()) }))
        }
        ConnectionEvent::ShutdownComplete { .. } => tell.send(Event::Over),
        _ => return,
    };
}

/// Have a stream answered when its request is there.
fn answer(stream: &StreamRef) {
    let mut request = Vec::new();
    // Dropped with the callback, which is when the stream has been closed.
    let mut sent = Vec::new();
    stream.set_callback_handler(move |stream, event| {
        match event {
            StreamEvent::Receive { buffers, .. } => {
                request.extend(buffers.iter().flat_map(BufferRef::as_bytes));
            }
            StreamEvent::PeerSendShutdown => {
                let size_bytes =
                    u64::from_be_bytes(request.as_slice().try_into().map_err(|_| not_a_request())?);
                sent.extend(zeros(size_bytes));
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

/// So many zeros, in blocks.
fn zeros(size_bytes: u64) -> impl Iterator<Item = BufferRef> {
    let block_bytes = ZEROS.len() as u64;
    let rest = (size_bytes % block_bytes) as usize;
    let whole = (0..size_bytes / block_bytes).map(|_| BufferRef::from(ZEROS.as_slice()));
    whole.chain((rest > 0).then(|| BufferRef::from(&ZEROS[..rest])))
}

//! The client: fetches files or sends bytes over one connection, one stream after the other, and notes when.

use std::iter::once;
use std::mem::size_of;
use std::ptr;
use std::sync::mpsc::{Receiver, Sender, channel};

use msquic::{
    Addr, Api, BufferRef, Connection, ConnectionEvent, ConnectionShutdownFlags, CredentialConfig,
    CredentialFlags, PARAM_CONN_REMOTE_ADDRESS, ReceiveFlags, SendFlags, Stream, StreamEvent,
    StreamOpenFlags, StreamStartFlags,
};
use serde_json::{Value, json};

use crate::task::{Failure, Task, Work, failed, now_ns, variable, write_result};
use crate::zeros::zeros;

/// What MsQuic's thread tells the main one; instants in nanoseconds of CLOCK_REALTIME.
enum Happened {
    Connected {
        at_ns: u64,
    },
    /// A stream is over; instants only where bytes came.
    Answered {
        arrived_bytes: u64,
        first_byte_ns: Option<u64>,
        completed_ns: Option<u64>,
    },
    /// The connection is closing, for a reason of the transport's.
    Lost(String),
    /// MsQuic has nothing more to do for the connection.
    Over,
}

/// Errors: no connection, or one that ends before all is there.
pub fn transfer(task: &Task) -> Result<(), Failure> {
    let credentials = CredentialConfig::new_client()
        // Of its two ways to validate, the one that goes by the authority that is named here.
        .set_credential_flags(CredentialFlags::USE_TLS_BUILTIN_CERTIFICATE_VALIDATION)
        .set_ca_certificate_file(variable("GAUNTLET_CA")?);
    let (registration, configuration) = task.msquic(&credentials)?;

    let (tell, happened) = channel();
    let of_connection = tell.clone();
    let connection = Connection::open(&registration, move |_, event| {
        on_connection(&of_connection, &event);
        Ok(())
    })
    .map_err(failed("MsQuic opens no connection"))?;
    set_server(&connection, task)?;

    let started_ns = now_ns();
    connection
        .start(&configuration, &variable("GAUNTLET_SERVER_NAME")?, task.server.port())
        .map_err(failed("MsQuic starts no connection"))?;
    let established_ns = match happened.recv() {
        Ok(Happened::Connected { at_ns }) => at_ns,
        other => return Err(unexpected(other.ok())),
    };
    let mut told = json!({
        "started_ns": started_ns,
        "transport_established_ns": established_ns,
        "established_ns": established_ns,
    });
    match &task.work {
        Work::Upload(size_bytes) => {
            told["sent"] = json!([[now_ns(), size_bytes]]);
            ask(&connection, 0, *size_bytes, &tell, &happened)?;
        }
        Work::Fetch(files) => {
            let mut exchanges = Vec::new();
            for (name, size_bytes) in files {
                // The first one waits for the connection, too.
                let requested_ns = if exchanges.is_empty() { started_ns } else { now_ns() };
                let mut exchange = ask(&connection, *size_bytes, 0, &tell, &happened)?;
                exchange["object"] = name.as_str().into();
                exchange["size_bytes"] = (*size_bytes).into();
                exchange["requested_ns"] = requested_ns.into();
                exchanges.push(exchange);
            }
            if let Some(first) = exchanges.first_mut() {
                first["connected_ns"] = established_ns.into();
                first["secured_ns"] = established_ns.into();
            }
            told["exchanges"] = exchanges.into();
        }
    }
    connection.shutdown(ConnectionShutdownFlags::NONE, 0);
    while !matches!(happened.recv(), Ok(Happened::Over) | Err(_)) {}
    told["finished_ns"] = now_ns().into();
    write_result(told)
}

fn on_connection(tell: &Sender<Happened>, event: &ConnectionEvent<'_>) {
    let happened = match event {
        ConnectionEvent::Connected { .. } => Happened::Connected { at_ns: now_ns() },
        ConnectionEvent::ShutdownInitiatedByTransport { status, .. } => Happened::Lost(status.to_string()),
        ConnectionEvent::ShutdownInitiatedByPeer { error_code } => {
            Happened::Lost(format!("the server closed the connection with {error_code}"))
        }
        ConnectionEvent::ShutdownComplete { .. } => Happened::Over,
        _ => return,
    };
    let _ = tell.send(happened);
}

/// Name the server's address, so that no name is looked up.
fn set_server(connection: &Connection, task: &Task) -> Result<(), Failure> {
    let address = Addr::from(task.server);
    // SAFETY: the handle lives as long as `connection`, and MsQuic copies the address, which has the layout of its
    // QUIC_ADDR, before the call returns.
    unsafe {
        Api::set_param(
            connection.as_raw(),
            PARAM_CONN_REMOTE_ADDRESS,
            size_of::<Addr>() as u32,
            ptr::from_ref(&address).cast(),
        )
    }
    .map_err(failed("MsQuic does not take the server's address"))
}

/// Send `given_bytes` over a stream of its own, and wait for `wanted_bytes`. Returns when they came, and that they did.
fn ask(
    connection: &Connection,
    wanted_bytes: u64,
    given_bytes: u64,
    tell: &Sender<Happened>,
    happened: &Receiver<Happened>,
) -> Result<Value, Failure> {
    let request = wanted_bytes.to_be_bytes();
    let sent: Vec<_> = once(BufferRef::from(request.as_slice())).chain(zeros(given_bytes)).collect();

    let tell = tell.clone();
    let (mut arrived_bytes, mut first_byte_ns, mut completed_ns) = (0, None, None);
    let stream = Stream::open(connection, StreamOpenFlags::NONE, move |_, event| {
        match event {
            StreamEvent::Receive { total_buffer_length, flags, .. } => {
                arrived_bytes += *total_buffer_length;
                if first_byte_ns.is_none() || flags.contains(ReceiveFlags::FIN) {
                    completed_ns = Some(now_ns());
                    first_byte_ns = first_byte_ns.or(completed_ns);
                }
            }
            StreamEvent::ShutdownComplete { .. } => {
                // Fails where the main thread has ended already, which needs to know nothing more.
                let _ = tell.send(Happened::Answered { arrived_bytes, first_byte_ns, completed_ns });
            }
            _ => {}
        }
        Ok(())
    })
    .map_err(failed("MsQuic opens no stream"))?;
    stream.start(StreamStartFlags::NONE).map_err(failed("MsQuic starts no stream"))?;
    // SAFETY: `request` and `sent` are dropped after `stream`, and MsQuic is done with them when that is closed.
    unsafe { stream.send(&sent, SendFlags::FIN, ptr::null()) }.map_err(failed("MsQuic sends nothing"))?;

    match happened.recv() {
        Ok(Happened::Answered { arrived_bytes, first_byte_ns, completed_ns })
            if arrived_bytes == wanted_bytes =>
        {
            Ok(json!({ "first_byte_ns": first_byte_ns, "completed_ns": completed_ns, "outcome": "ok" }))
        }
        other => Err(unexpected(other.ok())),
    }
}

fn unexpected(happened: Option<Happened>) -> Failure {
    Failure::Failed(match happened {
        Some(Happened::Lost(reason)) => format!("the connection was lost: {reason}"),
        Some(Happened::Answered { arrived_bytes, .. }) => {
            format!("the server's answer ended after {arrived_bytes} bytes")
        }
        _ => "the connection ended before all was there".to_owned(),
    })
}

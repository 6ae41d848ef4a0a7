//! The client: fetches the files one after the other over one connection, and notes when.

use std::mem::size_of;
use std::ptr;
use std::sync::mpsc::{Receiver, Sender, channel};

use msquic::{
    Addr, Api, BufferRef, Connection, ConnectionEvent, ConnectionShutdownFlags, CredentialConfig,
    CredentialFlags, PARAM_CONN_REMOTE_ADDRESS, ReceiveFlags, SendFlags, Stream, StreamEvent,
    StreamOpenFlags, StreamStartFlags,
};
use serde_json::{Value, json};

use crate::task::{Failure, SOFTWARE, Task, failed, now_ns, variable};

/// What MsQuic's thread tells the main one; instants in nanoseconds of CLOCK_REALTIME.
enum Happened {
    Connected {
        at_ns: u64,
    },
    /// A stream is over; instants only where bytes came.
    Answered {
        size_bytes: u64,
        first_byte_ns: Option<u64>,
        completed_ns: Option<u64>,
    },
    /// The connection is closing, for a reason of the transport's.
    Lost(String),
    /// MsQuic has nothing more to do for the connection.
    Over,
}

/// Errors: no connection, or one that ends before all files are there.
pub fn fetch_all(task: &Task) -> Result<(), Failure> {
    let wanted: Vec<Value> = serde_json::from_str(&variable("GAUNTLET_OBJECTS")?)
        .map_err(|error| Failure::Failed(format!("GAUNTLET_OBJECTS: {error}")))?;
    let credentials = CredentialConfig::new_client()
        // Of the two ways to validate, the one that MsQuic has beside the system's authorities.
        .set_credential_flags(CredentialFlags::USE_TLS_BUILTIN_CERTIFICATE_VALIDATION)
        .set_ca_certificate_file(variable("GAUNTLET_CA")?);
    let (registration, configuration) = task.msquic(&credentials)?;

    let (tell, happened) = channel();
    let connection = {
        let tell = tell.clone();
        Connection::open(&registration, move |_, event| {
            on_connection(&tell, &event);
            Ok(())
        })
    }
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

    let mut exchanges = Vec::new();
    for (number, file) in wanted.iter().enumerate() {
        let requested_ns = if number == 0 { started_ns } else { now_ns() };
        let mut exchange = fetch(&connection, file, &tell, &happened)?;
        exchange["requested_ns"] = requested_ns.into();
        if number == 0 {
            exchange["connected_ns"] = established_ns.into();
            exchange["secured_ns"] = established_ns.into();
        }
        exchanges.push(exchange);
    }

    connection.shutdown(ConnectionShutdownFlags::NONE, 0);
    while !matches!(happened.recv(), Ok(Happened::Over) | Err(_)) {}
    let told = json!({
        "format": "gauntlet-external-result",
        "version": 1,
        "clock": "realtime",
        "software": SOFTWARE,
        "started_ns": started_ns,
        "transport_established_ns": established_ns,
        "established_ns": established_ns,
        "finished_ns": now_ns(),
        "exchanges": exchanges,
    });
    let path = variable("GAUNTLET_RESULT")?;
    std::fs::write(&path, told.to_string()).map_err(|error| Failure::Failed(format!("{path}: {error}")))
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
    // Fails where the main thread has ended already, which needs to know nothing more.
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

/// Fetch one file over a stream of its own.
fn fetch(
    connection: &Connection,
    file: &Value,
    tell: &Sender<Happened>,
    happened: &Receiver<Happened>,
) -> Result<Value, Failure> {
    let size_bytes = file["size_bytes"].as_u64().unwrap_or_default();
    let request = size_bytes.to_be_bytes();
    let buffers = [BufferRef::from(request.as_slice())];

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
                let _ =
                    tell.send(Happened::Answered { size_bytes: arrived_bytes, first_byte_ns, completed_ns });
            }
            _ => {}
        }
        Ok(())
    })
    .map_err(failed("MsQuic opens no stream"))?;
    stream.start(StreamStartFlags::NONE).map_err(failed("MsQuic starts no stream"))?;
    // SAFETY: `request` and `buffers` are dropped after `stream`, and MsQuic is done with them when that is closed.
    unsafe { stream.send(&buffers, SendFlags::FIN, ptr::null()) }
        .map_err(failed("MsQuic sends no request"))?;

    match happened.recv() {
        Ok(Happened::Answered { size_bytes: arrived, first_byte_ns, completed_ns })
            if arrived == size_bytes =>
        {
            Ok(json!({
                "object": file["object"],
                "size_bytes": size_bytes,
                "first_byte_ns": first_byte_ns,
                "completed_ns": completed_ns,
                "outcome": "ok",
            }))
        }
        other => Err(unexpected(other.ok())),
    }
}

fn unexpected(happened: Option<Happened>) -> Failure {
    Failure::Failed(match happened {
        Some(Happened::Lost(reason)) => format!("the connection was lost: {reason}"),
        Some(Happened::Answered { size_bytes, .. }) => {
            format!("the server's answer ended after {size_bytes} bytes")
        }
        _ => "the connection ended before all files were there".to_owned(),
    })
}

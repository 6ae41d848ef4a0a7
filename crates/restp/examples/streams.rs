//! A train's log goes up while its driver asks: both over streams of one connection, over real UDP on loopback.
//!
//! `cargo run --example streams -p restp`
//!
//! The log is long and not urgent; a question is short and urgent. On one byte stream each question would wait for all of
//! the log that was written before it. Here it overtakes: the program tells how much of the log was still to come when
//! each answer was there.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use restp::{Connection, Endpoint, IncomingStream, Priority, Profile};
use tokio::io::AsyncReadExt;
use tokio::task::JoinSet;

/// Inner port of the service.
const PORT: u16 = 31;
const LOG_BYTES: usize = 16 << 20;
const QUESTIONS: [&str; 3] = ["the signal ahead", "the next stop", "the speed limit"];

/// Serves the streams of a train, each in a task of its own, and counts what has come of its log.
async fn serve(connection: Connection, log_bytes: Arc<AtomicUsize>) -> std::io::Result<()> {
    let mut streams = JoinSet::new();
    while let Some(stream) = connection.accept_stream().await? {
        streams.spawn(serve_stream(stream, log_bytes.clone()));
    }
    while let Some(served) = streams.join_next().await {
        served??;
    }
    Ok(connection.finish().await?)
}

async fn serve_stream(mut stream: IncomingStream, log_bytes: Arc<AtomicUsize>) -> std::io::Result<()> {
    match stream.send.take() {
        // One way: a log.
        None => {
            while let Some(piece) = stream.recv.recv(64 << 10).await? {
                log_bytes.fetch_add(piece.len(), Ordering::Relaxed);
            }
        }
        Some(answer) => {
            let mut question = String::new();
            stream.recv.read_to_string(&mut question).await?;
            answer.set_priority(Priority::new(0, false))?;
            answer.send(format!("{question}: clear")).await?;
            answer.finish()?;
        }
    }
    Ok(())
}

async fn ask(connection: &Connection, question: &'static str) -> std::io::Result<String> {
    let (send, mut recv) = connection.open_stream().await?;
    // Before everything of less urgency that waits.
    send.set_priority(Priority::new(0, false))?;
    send.send(question).await?;
    send.finish()?;
    let mut answer = String::new();
    recv.read_to_string(&mut answer).await?;
    Ok(answer)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Both ends must have streams: a listener without them refuses who asks for them.
    let profile = Profile::file_arq().with_streams();
    let server = Endpoint::bind("127.0.0.1:0").await?;
    let listener = server.listen(PORT, &profile)?;
    let arrived_bytes = Arc::new(AtomicUsize::new(0));
    let serving = tokio::spawn({
        let arrived_bytes = arrived_bytes.clone();
        async move { serve(listener.accept().await?, arrived_bytes).await }
    });

    let client = Endpoint::bind("127.0.0.1:0").await?;
    let connection = client.connect(server.local_addr(), PORT, &profile).await?;
    let log = connection.open_one_way_stream().await?;
    log.set_priority(Priority::new(Priority::MAX_URGENCY, true))?;
    let upload = tokio::spawn(async move {
        log.send(vec![b'.'; LOG_BYTES]).await?;
        log.finish()
    });

    for question in QUESTIONS {
        let answer = ask(&connection, question).await?;
        let left_bytes = LOG_BYTES - arrived_bytes.load(Ordering::Relaxed);
        println!("{answer} ({left_bytes} bytes of the log still to come)");
        if answer != format!("{question}: clear") {
            return Err("that is no answer to the question".into());
        }
    }
    upload.await??;
    // Ends our side; returns when everything was delivered and the server has ended its side.
    connection.finish().await?;
    serving.await??;
    let arrived_bytes = arrived_bytes.load(Ordering::Relaxed);
    println!("{arrived_bytes} of {LOG_BYTES} bytes of the log arrived");
    if arrived_bytes == LOG_BYTES { Ok(()) } else { Err("a part of the log is missing".into()) }
}

#[cfg(test)]
mod tests {
    #[test]
    fn it_runs() {
        super::main().unwrap();
    }
}

//! Streams within a connection over real UDP on loopback.

mod common;

use common::{HANGS, content, pair};
use restp::{CloseReason, Error, Priority, Profile, StreamError};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

/// Bytes of one stream: more than its window.
const SIZE_BYTES: usize = 3 << 20;

fn profile() -> Profile {
    Profile::file_arq().with_streams()
}

#[tokio::test]
async fn many_streams_move_megabytes_intact_at_once() {
    let ((_client, outgoing), (_server, incoming)) = pair(&profile()).await;
    let echo = tokio::spawn(async move {
        let mut echoes = Vec::new();
        while let Some(mut stream) = incoming.accept_stream().await? {
            echoes.push(tokio::spawn(async move {
                let mut send = stream.send.take().expect("both ends send on it");
                tokio::io::copy(&mut stream.recv, &mut send).await?;
                send.shutdown().await
            }));
        }
        for echo in echoes {
            echo.await.expect("no task panics").map_err(|error| Error::Record(error.to_string()))?;
        }
        incoming.finish().await
    });
    let mut asking = Vec::new();
    for number in 0..20_u8 {
        let outgoing = outgoing.clone();
        asking.push(tokio::spawn(async move {
            let mut sent = content(SIZE_BYTES / 10);
            sent[0] = number;
            let (mut send, mut recv) = outgoing.open_stream().await.unwrap();
            let sending = async {
                send.write_all(&sent).await.unwrap();
                send.shutdown().await.unwrap();
            };
            let mut received = Vec::new();
            let receiving = async { recv.read_to_end(&mut received).await.unwrap() };
            tokio::join!(sending, receiving);
            assert!(received == sent, "stream {number}");
        }));
    }
    for task in asking {
        timeout(HANGS, task).await.unwrap().unwrap();
    }
    timeout(HANGS, outgoing.finish()).await.unwrap().unwrap();
    timeout(HANGS, echo).await.unwrap().unwrap().unwrap();
}

#[tokio::test]
async fn a_writer_waits_for_a_reader() {
    let ((_client, outgoing), (_server, incoming)) = pair(&profile()).await;
    let send = outgoing.open_one_way_stream().await.unwrap();
    let sent = content(SIZE_BYTES);
    let copy = sent.clone();
    let sending = tokio::spawn(async move { send.send(copy).await });
    let mut stream = timeout(HANGS, incoming.accept_stream()).await.unwrap().unwrap().unwrap();
    assert!(stream.send.is_none());
    let mut received = Vec::new();
    timeout(HANGS, stream.recv.read_to_end(&mut received)).await.unwrap().unwrap();
    assert!(received == sent);
    sending.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_dropped_reader_stops_the_writer_and_a_reset_reaches_the_reader() {
    let ((_client, outgoing), (_server, incoming)) = pair(&profile()).await;
    let send = outgoing.open_one_way_stream().await.unwrap();
    send.send("x").await.unwrap();
    let mut stream = timeout(HANGS, incoming.accept_stream()).await.unwrap().unwrap().unwrap();
    stream.recv.stop(7).unwrap();
    let told = timeout(HANGS, async {
        loop {
            if let Err(error) = send.send(vec![0; 10_000]).await {
                break error;
            }
            tokio::task::yield_now().await;
        }
    });
    assert!(matches!(told.await.unwrap(), Error::Stream(StreamError::Stopped(7))));

    let (send, _recv) = outgoing.open_stream().await.unwrap();
    send.set_priority(Priority::new(0, true)).unwrap();
    send.send("y").await.unwrap();
    let mut stream = timeout(HANGS, incoming.accept_stream()).await.unwrap().unwrap().unwrap();
    assert_eq!(timeout(HANGS, stream.recv.recv(100)).await.unwrap().unwrap().unwrap(), "y");
    send.reset(8).unwrap();
    let told = timeout(HANGS, stream.recv.recv(100)).await.unwrap();
    assert!(matches!(told, Err(Error::Stream(StreamError::Reset(8)))), "{told:?}");
}

#[tokio::test]
async fn who_waits_hears_of_the_end_of_the_connection() {
    let ((_client, outgoing), (_server, incoming)) = pair(&profile()).await;
    let (send, mut recv) = outgoing.open_stream().await.unwrap();
    send.send("x").await.unwrap();
    let mut stream = timeout(HANGS, incoming.accept_stream()).await.unwrap().unwrap().unwrap();
    assert_eq!(timeout(HANGS, stream.recv.recv(100)).await.unwrap().unwrap().unwrap(), "x");
    let waiting = tokio::spawn(async move { recv.recv(100).await });
    let accepting = tokio::spawn({
        let outgoing = outgoing.clone();
        async move { outgoing.accept_stream().await.map(|stream| stream.is_some()) }
    });
    tokio::task::yield_now().await;
    incoming.abort_with(5);
    let told = timeout(HANGS, waiting).await.unwrap().unwrap();
    assert!(matches!(told, Err(Error::Closed(CloseReason::Application(5)))), "{told:?}");
    let told = timeout(HANGS, accepting).await.unwrap().unwrap();
    assert!(matches!(told, Err(Error::Closed(CloseReason::Application(5)))), "{told:?}");
}

#[tokio::test]
async fn a_listener_without_streams_refuses_them_and_a_connection_without_has_none() {
    let (_server, _listener, address) = common::server(&Profile::file_arq()).await;
    let client = restp::Endpoint::bind("127.0.0.1:0").await.unwrap();
    let refused = timeout(HANGS, client.connect(address, common::PORT, &profile())).await.unwrap();
    assert!(matches!(refused, Err(Error::Refused { .. })), "{refused:?}");
    let ((_client, outgoing), _server) = pair(&Profile::file_arq()).await;
    let none = outgoing.open_stream().await.unwrap_err();
    assert!(matches!(none, Error::Stream(StreamError::NoStreams)), "{none}");
    assert!(none.to_string().contains("Ordering::Streams"));
}

#[tokio::test]
async fn a_connection_with_streams_is_none_itself_and_says_what_to_call() {
    let ((_client, outgoing), _server) = pair(&profile()).await;
    let error = outgoing.into_stream().expect_err("it carries streams");
    assert!(error.to_string().contains("use open_stream and accept_stream"), "{error}");
}

#[tokio::test]
async fn who_stopped_reading_is_at_the_end() {
    let ((_client, outgoing), (_server, incoming)) = pair(&profile()).await;
    let (send, _recv) = outgoing.open_stream().await.unwrap();
    send.send("not wanted").await.unwrap();
    let mut stream = timeout(HANGS, incoming.accept_stream()).await.expect("it hangs").unwrap().unwrap();
    stream.recv.stop(4).unwrap();
    assert_eq!(timeout(HANGS, stream.recv.recv(100)).await.expect("it hangs").unwrap(), None);
}

#[tokio::test]
async fn a_call_that_does_not_fit_the_profile_is_refused_and_does_not_wait() {
    let ((_client, streams), (_server, _incoming)) = pair(&profile()).await;
    let received = timeout(HANGS, streams.recv()).await.expect("it hangs");
    assert!(matches!(received, Err(Error::WrongService(_))), "{received:?}");
    assert!(matches!(restp::Records::new(streams), Err(Error::WrongService(_))));
    let ((_client, one_stream), (_server, _incoming)) = pair(&Profile::file_arq()).await;
    let accepted = timeout(HANGS, one_stream.accept_stream()).await.expect("it hangs");
    assert!(matches!(accepted, Err(Error::Stream(StreamError::NoStreams))));
}

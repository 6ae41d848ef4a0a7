//! Futures that are dropped in the middle: nothing is lost, doubled or left hanging by it.

mod common;

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use common::{HANGS, PORT, content, pair, server};
use restp::profile::Tuning;
use restp::{CloseReason, Endpoint, Error, Peer, Profile, Records};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

/// Polls a future once and drops it.
fn begin<T>(future: impl Future<Output = T>) -> Option<T> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    }
}

/// A profile whose send buffer is soon full.
fn narrow() -> Profile {
    let tuning = Tuning { send_buffer_packets: 4, receive_window_packets: 8, ..Profile::file_arq().tuning };
    Profile { tuning, ..Profile::file_arq() }
}

#[tokio::test]
async fn what_arrives_after_a_dropped_recv_is_read_by_the_next_one() {
    let ((_client, outgoing), (_server, incoming)) = pair(&Profile::voice()).await;
    for number in 0..200_u32 {
        assert!(begin(incoming.recv()).is_none(), "nothing has been sent");
        outgoing.send(number.to_be_bytes().to_vec()).await.unwrap();
        if number % 2 == 0 {
            // Dropped while the message is under way.
            let _ = timeout(Duration::from_micros(u64::from(number)), std::future::pending::<()>()).await;
        }
        let mut messages = Vec::new();
        if begin(incoming.recv_many(&mut messages, 9)).is_none() {
            assert!(messages.is_empty());
            messages.push(timeout(HANGS, incoming.recv()).await.expect("it hangs").unwrap().unwrap());
        }
        assert_eq!(messages.len(), 1);
        assert_eq!(messages[0].payload, number.to_be_bytes().to_vec());
    }
}

#[tokio::test]
async fn a_dropped_send_has_sent_the_message_or_nothing_of_it() {
    let ((_client, outgoing), (_server, incoming)) = pair(&narrow()).await;
    let mut sent = Vec::new();
    let mut dropped = 0;
    for number in 0..100_u32 {
        let message = [&number.to_be_bytes()[..], &content(996)].concat();
        match begin(outgoing.send(message.clone())) {
            Some(taken) => {
                taken.unwrap();
                sent.extend(message);
            }
            None => {
                dropped += 1;
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
    }
    assert!(dropped > 0 && !sent.is_empty(), "the buffer must have been full at times");
    outgoing.close();
    let mut received = Vec::new();
    while let Some(message) = timeout(HANGS, incoming.recv()).await.expect("it hangs").unwrap() {
        received.extend_from_slice(&message.payload);
    }
    assert!(received == sent, "{} of {} bytes", received.len(), sent.len());
}

#[tokio::test]
async fn dropped_reads_and_writes_of_a_byte_stream_lose_and_double_nothing() {
    let ((_client, outgoing), (_server, incoming)) = pair(&narrow()).await;
    let (mut writer, mut reader) = (outgoing.into_stream().unwrap(), incoming.into_stream().unwrap());
    let sent = content(100_000);
    let (mut written, mut received) = (0, Vec::new());
    let (mut dropped_writes, mut dropped_reads) = (0, 0);
    let moving = async {
        while received.len() < sent.len() {
            while written < sent.len() {
                let end = sent.len().min(written + 1000);
                let Some(count) = begin(writer.write(&sent[written..end])) else {
                    dropped_writes += 1;
                    break;
                };
                written += count.unwrap();
            }
            let mut piece = [0; 700];
            match begin(reader.read(&mut piece)) {
                Some(count) => received.extend_from_slice(&piece[..count.unwrap()]),
                None => dropped_reads += 1,
            }
            tokio::task::yield_now().await;
        }
    };
    timeout(HANGS, moving).await.expect("it hangs");
    assert!(received == sent, "{} of {} bytes", received.len(), sent.len());
    assert!(dropped_writes > 0 && dropped_reads > 0, "{dropped_writes}, {dropped_reads}");
}

#[tokio::test]
async fn records_that_were_fed_survive_a_dropped_flush() {
    let ((_client, outgoing), (_server, incoming)) = pair(&narrow()).await;
    let (mut sender, mut receiver) = (Records::new(outgoing).unwrap(), Records::new(incoming).unwrap());
    let mut dropped = 0;
    for number in 0..300 {
        begin(sender.feed(&content(number))).transpose().unwrap();
        dropped += u32::from(begin(sender.flush()).transpose().unwrap().is_none());
    }
    assert!(dropped > 0, "the buffer must have been full at times");
    let sending = async {
        sender.flush().await.unwrap();
        sender.connection().finish().await.unwrap();
    };
    let receiving = async {
        for number in 0..300 {
            let record = receiver.recv().await.unwrap().expect("one more");
            assert!(record == content(number), "{number}: {}", record.len());
        }
        assert_eq!(receiver.recv().await.unwrap(), None);
        receiver.connection().finish().await.unwrap();
    };
    timeout(HANGS, async { tokio::join!(sending, receiving) }).await.expect("it hangs");
}

#[tokio::test]
async fn a_dropped_accept_leaves_the_connection_to_the_next_one_and_a_dropped_connect_none() {
    let (_server, listener, address) = server(&Profile::file_arq()).await;
    assert!(begin(listener.accept()).is_none());
    let client = Endpoint::bind("127.0.0.1:0").await.unwrap();
    let outgoing = client.connect(address, PORT, Profile::file_arq()).await.unwrap();
    let incoming = timeout(HANGS, listener.accept()).await.expect("it hangs").unwrap();
    assert_eq!(incoming.remote_addr(), client.local_addr());

    // To an address where nobody answers: the attempt ends with its future.
    let silent = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    assert_eq!(client.connections(), 1);
    let attempt = client.connect(silent.local_addr().unwrap(), PORT, Profile::file_arq());
    assert!(timeout(Duration::from_millis(50), attempt).await.is_err());
    let gone = async {
        while client.connections() > 1 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(Duration::from_secs(10), gone).await.expect("the attempt goes on");
    assert!(begin(outgoing.closed()).is_none());
    drop((outgoing, incoming));
}

#[tokio::test]
async fn dropped_waits_for_streams_lose_none_and_skip_no_number() {
    /// Streams that an end may open before the other has said more, and here altogether.
    const STREAMS: u64 = 16;
    let tuning = Tuning { max_streams: STREAMS, ..Profile::file_arq().tuning };
    let profile = Profile { tuning, ..Profile::file_arq() }.with_streams();
    let ((_client, outgoing), (_server, incoming)) = pair(&profile).await;
    assert!(begin(incoming.accept_stream()).is_none(), "none was opened");
    let first = outgoing.open_one_way_stream().await.unwrap();
    first.send("x").await.unwrap();
    let mut stream =
        timeout(HANGS, incoming.accept_stream()).await.expect("it hangs").unwrap().expect("one was opened");
    assert_eq!(stream.recv.recv(9).await.unwrap().unwrap(), "x");
    assert!(begin(stream.recv.recv(9)).is_none(), "there is no more");
    first.send("y").await.unwrap();
    assert_eq!(timeout(HANGS, stream.recv.recv(9)).await.expect("it hangs").unwrap().unwrap(), "y");

    let mut open = vec![first];
    for _ in 1..STREAMS {
        open.push(outgoing.open_one_way_stream().await.unwrap());
    }
    for _ in 0..3 {
        assert!(begin(outgoing.open_one_way_stream()).is_none(), "the peer allows no more");
    }
    drop(open);
    let reading = async {
        assert_eq!(stream.recv.recv(9).await.unwrap(), None);
        for _ in 1..STREAMS {
            let mut stream = incoming.accept_stream().await.unwrap().expect("one more");
            assert_eq!(stream.recv.recv(9).await.unwrap(), None);
        }
    };
    let (next, ()) = timeout(HANGS, async { tokio::join!(outgoing.open_one_way_stream(), reading) })
        .await
        .expect("it hangs");
    assert_eq!(next.unwrap().id().count(), STREAMS);
}

#[tokio::test]
async fn a_dropped_wait_for_a_datagram_leaves_it_to_the_next_one() {
    let (one, other) =
        tokio::try_join!(Endpoint::bind("127.0.0.1:0"), Endpoint::bind("127.0.0.1:0")).unwrap();
    let here = one.datagrams(5, Profile::datagram()).unwrap();
    let there = other.datagrams(6, Profile::datagram()).unwrap();
    for number in 0..50_u8 {
        assert!(begin(here.recv_from()).is_none(), "nothing has been sent");
        there.send_to(vec![number], Peer { addr: one.local_addr(), port: 5 }).await.unwrap();
        let (payload, _) = timeout(HANGS, here.recv_from()).await.expect("it hangs").unwrap();
        assert_eq!(payload, vec![number]);
    }
}

#[tokio::test]
async fn limits_of_time_end_waits_for_peers() {
    let limit = Duration::from_millis(60);
    let (_server, listener, address) = server(&Profile::file_arq()).await;
    let error = listener.accept_timeout(limit).await.unwrap_err();
    assert!(matches!(error, Error::TimedOut(after) if after == limit), "{error}");

    let client = Endpoint::bind("127.0.0.1:0").await.unwrap();
    let silent = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let nobody = silent.local_addr().unwrap();
    let error = client.connect_timeout(nobody, PORT, Profile::file_arq(), limit).await.unwrap_err();
    assert!(matches!(error, Error::TimedOut(after) if after == limit), "{error}");
    let (outgoing, incoming) = tokio::try_join!(
        client.connect_timeout(address, PORT, Profile::file_arq(), HANGS),
        listener.accept_timeout(HANGS)
    )
    .unwrap();
    incoming.abort_with(404);
    assert_eq!(timeout(HANGS, outgoing.closed()).await.unwrap().unwrap(), CloseReason::Application(404));
    assert!(matches!(outgoing.recv().await, Err(Error::Closed(CloseReason::Application(404)))));
}

#[test]
fn limits_of_time_end_the_waits_of_blocking_calls() {
    let limit = Duration::from_millis(60);
    let server = restp::blocking::Endpoint::bind("127.0.0.1:0").unwrap();
    let listener = server.listen(PORT, Profile::file_arq()).unwrap();
    assert!(matches!(listener.accept_timeout(limit), Err(Error::TimedOut(after)) if after == limit));
    let client = restp::blocking::Endpoint::bind("127.0.0.1:0").unwrap();
    let silent = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let nobody = silent.local_addr().unwrap();
    let error = client.connect_timeout(nobody, PORT, Profile::file_arq(), limit).unwrap_err();
    assert!(matches!(error, Error::TimedOut(after) if after == limit), "{error}");
    // The attempt does not go on until it fails by itself.
    client.idle(Some(Duration::from_secs(10))).unwrap();
    let outgoing = client.connect_timeout(server.local_addr(), PORT, Profile::file_arq(), HANGS).unwrap();
    let incoming = listener.accept_timeout(HANGS).unwrap();

    // Another port of the same host; the connection goes on.
    let before = client.local_addr();
    client.rebind("127.0.0.1:0").unwrap();
    assert_ne!(client.local_addr(), before);
    outgoing.send("after the move").unwrap();
    assert_eq!(incoming.recv().unwrap().unwrap().payload, "after the move");
    incoming.send("answered").unwrap();
    assert_eq!(outgoing.recv().unwrap().unwrap().payload, "answered");
    assert_eq!(server.as_async().stats().rebindings, 1);
    assert!(client.rebind("192.0.2.1:0").is_err(), "not an address of this host");
    outgoing.send("still there").unwrap();
    assert_eq!(incoming.recv().unwrap().unwrap().payload, "still there");
}

#[tokio::test]
async fn a_transfer_goes_on_while_its_endpoint_is_bound_anew() {
    let ((client, outgoing), (server, incoming)) = pair(&Profile::file_arq()).await;
    let moving = async {
        for _ in 0..5 {
            tokio::time::sleep(Duration::from_millis(20)).await;
            client.rebind("127.0.0.1:0".parse().unwrap()).unwrap();
        }
    };
    tokio::join!(common::transfer(outgoing, incoming, 24 << 20), moving);
    assert!(server.stats().rebindings > 0);
}

// R-ENCAP-3
#[tokio::test]
async fn an_end_that_only_receives_tells_its_peer_where_it_is_bound_anew() {
    let ((client, outgoing), (server, incoming)) = pair(&Profile::file_arq()).await;
    incoming.send("before the move").await.unwrap();
    assert_eq!(outgoing.recv().await.unwrap().unwrap().payload, "before the move");
    let acknowledged = async {
        while incoming.path_stats()[0].1.in_flight_packets > 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    timeout(HANGS, acknowledged).await.expect("it hangs");
    client.rebind("127.0.0.1:0".parse().unwrap()).unwrap();
    // Neither end owes the other anything, so that nothing but the call from there tells where it is.
    let followed = async {
        while server.stats().rebindings == 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    timeout(HANGS, followed).await.expect("it hangs");
    incoming.send("after the move").await.unwrap();
    let message = timeout(HANGS, outgoing.recv()).await.expect("it hangs").unwrap().unwrap();
    assert_eq!(message.payload, "after the move");
}

/// Polls `future` with a waker of its own and drops it: whether something still holds the waker.
fn leaves_a_waker<T>(future: impl Future<Output = T>) -> bool {
    struct Nobody;
    impl std::task::Wake for Nobody {
        fn wake(self: Arc<Self>) {}
    }
    let task = Arc::new(Nobody);
    {
        let waker = Waker::from(Arc::clone(&task));
        assert!(pin!(future).poll(&mut Context::from_waker(&waker)).is_pending(), "it must wait");
    }
    Arc::strong_count(&task) > 1
}

#[tokio::test]
async fn a_dropped_future_leaves_no_waker_behind() {
    let ((client, outgoing), (_server, incoming)) = pair(&narrow()).await;
    let (_busy, listener, _) = server(&narrow()).await;
    let port = client.datagrams(9, Profile::datagram()).unwrap();
    while begin(outgoing.send(content(1000))).is_some() {}
    let left = [
        leaves_a_waker(listener.accept()),
        leaves_a_waker(client.idle()),
        leaves_a_waker(port.recv_from()),
        leaves_a_waker(outgoing.send(content(1000))),
        leaves_a_waker(outgoing.recv()),
        leaves_a_waker(outgoing.next_event()),
        leaves_a_waker(outgoing.closed()),
        leaves_a_waker(incoming.closed()),
    ];
    assert_eq!(left, [false; 8]);
    let ((_client, outgoing), (_server, incoming)) = pair(&narrow().with_streams()).await;
    let (stream, _answers) = outgoing.open_stream().await.unwrap();
    while begin(stream.send(content(1000))).is_some() {}
    let left = [
        leaves_a_waker(stream.send(content(1000))),
        leaves_a_waker(outgoing.accept_stream()),
        leaves_a_waker(incoming.closed()),
    ];
    assert_eq!(left, [false; 3]);
}

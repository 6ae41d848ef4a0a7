//! Messages that share packets keep their boundaries, whatever pieces a stream is cut into.

mod common;

use common::{HANGS, content, pair};
use restp::{Error, Profile, Records};
use tokio::time::timeout;

// R-FRM-3
#[tokio::test]
async fn messages_of_every_length_keep_their_boundaries() {
    let ((_client, outgoing), (_server, incoming)) = pair(&Profile::file_arq()).await;
    // Around the length of a packet and of what is gathered, and empty ones.
    let lengths: Vec<usize> =
        (0..2000).map(|index| index * 7 % 1700).chain([40_000, 0, 100_000, 1]).collect();
    let mut sender = Records::new(outgoing).unwrap();
    let mut receiver = Records::new(incoming).unwrap();
    let sending = async {
        for (index, length) in lengths.iter().enumerate() {
            let message = content(*length);
            if index % 50 == 0 { sender.send(&message).await } else { sender.feed(&message).await }.unwrap();
        }
        sender.flush().await.unwrap();
        sender.connection().finish().await.unwrap();
    };
    let receiving = async {
        for length in &lengths {
            let message = receiver.recv().await.unwrap().expect("one more");
            assert!(message == content(*length), "{length}: {}", message.len());
        }
        assert_eq!(receiver.recv().await.unwrap(), None);
        receiver.connection().finish().await.unwrap();
    };
    timeout(HANGS, async { tokio::join!(sending, receiving) }).await.expect("it hangs");
}

#[tokio::test]
async fn lengths_beyond_the_limit_and_ends_within_a_message_are_errors() {
    let ((_client, outgoing), (_server, incoming)) = pair(&Profile::file_arq()).await;
    outgoing.send(vec![0, 0, 0, 5, b'h']).await.unwrap();
    outgoing.close();
    let mut receiver = Records::new(incoming).unwrap();
    let error = timeout(HANGS, receiver.recv()).await.expect("it hangs").unwrap_err();
    assert!(matches!(&error, Error::Record(what) if what.contains("in the middle")), "{error}");

    let ((_client, outgoing), (_server, incoming)) = pair(&Profile::file_arq()).await;
    outgoing.send(vec![0, 0, 4, 0]).await.unwrap();
    let mut receiver = Records::new(incoming).unwrap().with_limit(1000);
    let error = timeout(HANGS, receiver.recv()).await.expect("it hangs").unwrap_err();
    assert!(error.to_string().contains("1024 bytes but 1000 are allowed"), "{error}");
}

#[tokio::test]
async fn the_limit_holds_for_a_message_that_arrives_whole() {
    let ((_client, outgoing), (_server, incoming)) = pair(&Profile::file_arq()).await;
    let mut octets = vec![7; 4 + 100 + 4 + 101];
    octets[..4].copy_from_slice(&[0, 0, 0, 100]);
    octets[104..108].copy_from_slice(&[0, 0, 0, 101]);
    outgoing.send(octets).await.unwrap();
    let mut receiver = Records::new(incoming).unwrap().with_limit(100);
    let first = timeout(HANGS, receiver.recv()).await.expect("it hangs").unwrap();
    assert_eq!(first.map(|message| message.len()), Some(100));
    let error = timeout(HANGS, receiver.recv()).await.expect("it hangs").unwrap_err();
    assert!(error.to_string().contains("101 bytes but 100 are allowed"), "{error}");
}

// R-FRM-3
#[tokio::test]
async fn over_fixed_framing_a_packet_holds_as_many_whole_messages_as_fit() {
    let ((_client, outgoing), (_server, incoming)) = pair(&Profile::voice()).await;
    let most = outgoing.max_message_bytes().unwrap() - 4;
    let lengths: Vec<usize> = (0..200).map(|index| index * 3).chain([most, 0, most - 1, 1, most]).collect();
    let mut sender = Records::new(outgoing).unwrap();
    let mut receiver = Records::new(incoming).unwrap();
    let sending = async {
        for length in &lengths {
            sender.feed(&content(*length)).await.unwrap();
        }
        let error = sender.feed(&content(most + 1)).await.unwrap_err();
        assert!(error.to_string().contains("does not fit a packet"), "{error}");
        sender.flush().await.unwrap();
        sender.connection().finish().await.unwrap();
        sender.connection().stats().data_sent
    };
    let receiving = async {
        for length in &lengths {
            let message = receiver.recv().await.unwrap().expect("one more");
            assert!(message == content(*length), "{length}: {}", message.len());
        }
        assert_eq!(receiver.recv().await.unwrap(), None);
        receiver.connection().finish().await.unwrap();
    };
    let (packets, ()) = timeout(HANGS, async { tokio::join!(sending, receiving) }).await.expect("it hangs");
    // No packet but the last can have room for its successor's first message.
    let octets: usize = lengths.iter().map(|length| length + 4).sum();
    assert!(packets as usize <= 2 * octets.div_ceil(most + 4) && packets as usize >= octets / (most + 4));
}

// R-FRM-3
#[tokio::test]
async fn over_fixed_framing_a_message_that_goes_beyond_its_packet_is_an_error() {
    let ((_client, outgoing), (_server, incoming)) = pair(&Profile::voice()).await;
    outgoing.send(vec![0, 0, 0, 5, b'h']).await.unwrap();
    outgoing.send(b"ello".to_vec()).await.unwrap();
    let mut receiver = Records::new(incoming).unwrap();
    let error = timeout(HANGS, receiver.recv()).await.expect("it hangs").unwrap_err();
    assert!(matches!(&error, Error::Record(what) if what.contains("a packet ends in the middle")), "{error}");
}

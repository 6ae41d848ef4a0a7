//! Fuzz body of connections: a script sends, delays, loses, doubles, changes and injects; whatever it does, messages come
//! in order and at most once, and nothing panics.
//!
//! That holds until the script forges a message with good codes. The codes have no secret, so whoever makes them is the
//! peer: a forged confirmation has messages dropped that never came, and a forged request has others sent again. After
//! it, what comes is still something that was sent.

use std::time::Duration;

use rasta::sim::{Link, Pair, Side};
use rasta::{Body, Frame, Header, Message, SafetyCode, Seeds};

/// Plays the script in `data`: two octets a step, what and how much. The first two choose numbers and channels.
pub fn connection(data: &[u8]) {
    let [start, shape, script @ ..] = data else { return };
    let links = vec![Link::delay(Duration::from_millis(5)); 1 + usize::from(shape % 2)];
    let [client, server] = Pair::configs(|config| {
        config.channels = links.len();
        config.n_max_packet = 1 + u16::from(shape / 2 % 3);
        (config.n_send_max, config.mwa) = (4, 2);
    });
    let near_the_wrap = u32::MAX - u32::from(*start);
    let seeds = [Seeds::fixed(near_the_wrap, near_the_wrap), Seeds::fixed(u32::from(*start), near_the_wrap)];
    let mut pair = Pair::with_seeds(client, server, links, 1, seeds).expect("the configuration is sound");
    pair.open();
    // What was sent in the connection that is; an application takes up again after an end.
    let mut sent = [0_u32; 2];
    // How many deliveries each side had when the first message was forged.
    let mut before_forgery = None;
    for step in script.chunks_exact(2).take(400) {
        let (what, amount) = (step[0], step[1]);
        let side = if what & 1 == 0 { Side::Client } else { Side::Server };
        match what >> 1 & 7 {
            0 | 1 => {
                if pair.end(side).state().is_open()
                    && pair.send(side, sent[side as usize].to_le_bytes()).is_ok()
                {
                    sent[side as usize] += 1;
                }
            }
            2 | 3 => pair.run_for(Duration::from_millis(u64::from(amount))),
            4 => pair.lose(pair.frames() + u64::from(amount % 8)),
            5 => {
                let corruption = f64::from(amount % 4) / 4.0;
                let jitter = Duration::from_millis(u64::from(amount / 4));
                pair.set_link(
                    0,
                    Link { corruption, jitter, duplication: 0.2, ..Link::delay(Duration::from_millis(5)) },
                );
            }
            6 => {
                before_forgery.get_or_insert_with(|| Side::BOTH.map(|side| pair.seen(side).deliveries.len()));
                pair.inject(side, 0, &forged(side, amount));
            }
            _ => pair.inject(side, 0, step),
        }
    }
    pair.run_for(Duration::from_secs(10));
    for side in Side::BOTH {
        let deliveries = &pair.seen(side).deliveries;
        let in_order = before_forgery.map_or(deliveries.len(), |before| before[side as usize]);
        let mut next = 0;
        for (place, delivery) in deliveries.iter().enumerate() {
            // Forged data are not numbers of four octets.
            let Ok(number) = <[u8; 4]>::try_from(delivery.message.as_slice()).map(u32::from_le_bytes) else {
                assert!(place >= in_order, "nothing was forged yet");
                continue;
            };
            assert!(number < sent[side.other() as usize], "something that was sent");
            assert!(place >= in_order || number == next, "in order, exactly once: {number} for {next}");
            next = number + 1;
        }
    }
}

/// A message with good codes and numbers of the script's choice, as an attacker on the network could make it.
fn forged(to: Side, amount: u8) -> Vec<u8> {
    let ids = [(96, 97), (97, 96)][to as usize];
    let body = match amount % 6 {
        0 => Body::Heartbeat,
        1 => Body::RetransmissionRequest,
        2 => Body::RetransmissionResponse,
        3 => Body::Data(vec![b"forged".to_vec()]),
        4 => Body::RetransmittedData(vec![b"forged too".to_vec(), Vec::new()]),
        _ => Body::DisconnectionRequest(rasta::Disconnection {
            detail: 0,
            reason: rasta::DisconnectReason::NotInUse,
        }),
    };
    let number = u32::from(amount / 6);
    let header =
        Header { receiver_id: ids.0, sender_id: ids.1, sequence_number: number, ..Header::default() };
    let message = Message { header, body }.encode(&SafetyCode::default());
    Frame { sequence_number: number, payload: &message }.encode(rasta::CheckCode::A)
}

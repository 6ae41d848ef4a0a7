//! Messages on a byte stream: a space packet's header says where it ends.

use flight::security::Refusal;
use sdls::packet::{HEADER_OCTETS, packet_octets};

/// Refuses what is not just one space packet, since the other end could not tell where it ends.
pub fn check(message: &[u8]) -> Result<(), Refusal> {
    if packet_octets(message) == Some(message.len()) {
        return Ok(());
    }
    let reason = format!("{} octets are not just one space packet", message.len());
    Err(Refusal { code: "no-packet", reason })
}

/// Cuts a byte stream into space packets. What it holds back is less than the longest packet, 65,542 octets.
#[derive(Debug, Default)]
pub struct Packets {
    held: Vec<u8>,
}

impl Packets {
    /// Takes the next octets of the stream and hands over each packet that they complete.
    pub fn take(&mut self, octets: &[u8], mut give: impl FnMut(Vec<u8>)) {
        self.held.extend_from_slice(octets);
        let mut from = 0;
        while let Some(length) =
            packet_octets(&self.held[from..]).filter(|length| *length <= self.held.len() - from)
        {
            give(self.held[from..from + length].to_vec());
            from += length;
        }
        self.held.drain(..from);
        debug_assert!(self.held.len() < HEADER_OCTETS + (1 << 16));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn packet(payload: &[u8]) -> Vec<u8> {
        let length = u16::try_from(payload.len() - 1).expect("short");
        [&[0x18, 0x80, 0xC0, 0], length.to_be_bytes().as_slice(), payload].concat()
    }

    proptest! {
        #[test]
        fn packets_come_out_whole_however_the_stream_is_cut(
            payloads in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..300), 0..12),
            cut in 1..400usize,
        ) {
            let sent: Vec<_> = payloads.iter().map(|payload| packet(payload)).collect();
            let mut packets = Packets::default();
            let mut came = Vec::new();
            for octets in sent.concat().chunks(cut) {
                packets.take(octets, |message| came.push(message));
            }
            prop_assert_eq!(came, sent);
        }
    }

    #[test]
    fn only_one_whole_packet_is_taken() {
        let whole = packet(&[1, 2, 3]);
        assert_eq!(check(&whole), Ok(()));
        for wrong in [&whole[..8], &[], &[whole.clone(), whole.clone()].concat()] {
            assert_eq!(check(wrong).unwrap_err().code, "no-packet");
        }
    }
}

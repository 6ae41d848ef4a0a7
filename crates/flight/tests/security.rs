//! Links without sockets: what both ends of each security do with messages, and with what an attacker sends.

use std::net::Ipv4Addr;
use std::time::Duration;

use flight::dictionary::{bare, benchmark, enable_output, output};
use flight::gateway::{Forward, Gateway};
use flight::message::{MessageId, command, telemetry};
use flight::security::{
    Algorithm, End, Keys, Link, LinkSecurity, Output, Plain, Sdls, SdlsConfig, SdlsError,
};
use flight::time::{FlightTime, Subseconds};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

const NOW: Duration = Duration::ZERO;
const BOTH: [Algorithm; 2] = [Algorithm::Gcm, Algorithm::Cmac];

fn config(algorithm: Algorithm) -> SdlsConfig {
    SdlsConfig::new(algorithm, Keys { up: [1; 32], down: [2; 32] })
}

fn end(end: End, config: &SdlsConfig) -> Link {
    Link::new(Box::new(Sdls::new(end, config).unwrap()))
}

/// Ground and space.
fn ends(algorithm: Algorithm) -> (Link, Link) {
    (end(End::Ground, &config(algorithm)), end(End::Space, &config(algorithm)))
}

/// The datagrams of a message.
fn apply(link: &mut Link, message: &[u8]) -> Vec<Vec<u8>> {
    link.apply(message, NOW).unwrap();
    let all = std::iter::from_fn(|| link.poll(NOW));
    all.map(|output| match output {
        Output::Datagram(datagram) => datagram,
        Output::Message(message) => panic!("{message:?}"),
    })
    .collect()
}

/// The messages in datagrams, all of which must be good.
fn process(link: &mut Link, datagrams: &[Vec<u8>]) -> Vec<Vec<u8>> {
    for datagram in datagrams {
        link.process(datagram, NOW).unwrap();
    }
    let all = std::iter::from_fn(|| link.poll(NOW));
    all.map(|output| match output {
        Output::Message(message) => message,
        Output::Datagram(datagram) => panic!("{datagram:?}"),
    })
    .collect()
}

fn refused(link: &mut Link, datagram: &[u8]) -> &'static str {
    let code = link.process(datagram, NOW).unwrap_err().code;
    assert_eq!(link.poll(NOW), None, "nothing comes out of what is refused");
    code
}

fn data(octets: usize) -> Vec<u8> {
    command(benchmark::COMMAND, 0, benchmark::TAKE_DATA, &vec![0xA5; octets]).unwrap()
}

fn packet(number: u8, octets: usize) -> Vec<u8> {
    let time = FlightTime::default();
    telemetry(benchmark::DATA, number.into(), time, Subseconds::Bits16, &vec![number; octets]).unwrap()
}

#[test]
fn without_security_a_message_is_a_datagram() {
    let mut link = Link::new(Box::new(Plain::default()));
    let message = data(30);
    assert_eq!(apply(&mut link, &message), std::slice::from_ref(&message));
    assert_eq!(process(&mut link, std::slice::from_ref(&message)), [message]);
    assert_eq!((link.name(), link.counters().messages_in, link.counters().datagrams_out), ("none", 1, 1));
}

#[test]
fn commands_go_up_in_tc_frames_and_telemetry_comes_down_in_tm_frames_of_one_length() {
    for algorithm in BOTH {
        let (mut ground, mut space) = ends(algorithm);
        let up = apply(&mut ground, &data(128));
        // A TC frame says its length: 10 bits, less one.
        assert_eq!(up.len(), 1);
        assert_eq!(usize::from(up[0][2] & 3) << 8 | usize::from(up[0][3]), up[0].len() - 1);
        assert_eq!(process(&mut space, &up), [data(128)]);
        let down = apply(&mut space, &packet(7, 128));
        assert_eq!(down.iter().map(Vec::len).collect::<Vec<_>>(), [1115]);
        assert_eq!(process(&mut ground, &down), [packet(7, 128)]);
    }
}

#[test]
fn only_gcm_hides_what_is_sent() {
    for (algorithm, hides) in [(Algorithm::Gcm, true), (Algorithm::Cmac, false)] {
        let (mut ground, mut space) = ends(algorithm);
        for datagram in [&apply(&mut ground, &data(128))[0], &apply(&mut space, &packet(0xA5, 128))[0]] {
            assert_eq!(datagram.windows(64).any(|part| part == [0xA5; 64]), !hides, "{algorithm:?}");
        }
    }
}

#[test]
fn messages_longer_than_a_frame_arrive_whole() {
    for algorithm in BOTH {
        let (mut ground, mut space) = ends(algorithm);
        for octets in [900, 990, 1000, 2000, 60_000] {
            let up = apply(&mut ground, &data(octets));
            assert_eq!(up.len() > 1, octets >= 990, "{octets}");
            assert_eq!(process(&mut space, &up), [data(octets)]);
            assert_eq!(process(&mut ground, &apply(&mut space, &packet(9, octets))), [packet(9, octets)]);
        }
    }
}

#[test]
fn a_packet_never_waits_for_the_next_one() {
    // Every length around the data field's: what an idle packet of seven octets cannot fill spills over.
    for algorithm in BOTH {
        let (mut ground, mut space) = ends(algorithm);
        let field = Sdls::new(End::Space, &config(algorithm)).unwrap().tm_field_octets();
        for octets in field - 40..field + 40 {
            let down = apply(&mut space, &packet(3, octets));
            assert_eq!(process(&mut ground, &down), [packet(3, octets)], "{octets} of {field}");
        }
        assert_eq!(ground.incomplete(), 0);
    }
}

#[test]
fn what_an_attacker_sends_is_refused_and_counted_by_kind() {
    for algorithm in BOTH {
        let (mut ground, mut space) = ends(algorithm);
        let up = apply(&mut ground, &data(64)).remove(0);
        let down = apply(&mut space, &packet(1, 64)).remove(0);
        // Every octet counts: header, security header, text, MAC and FECF.
        for place in 0..up.len() {
            let mut changed = up.clone();
            changed[place] ^= 1;
            refused(&mut space, &changed);
        }
        for place in 0..down.len() {
            let mut changed = down.clone();
            changed[place] ^= 1;
            refused(&mut ground, &changed);
        }
        // Whoever can mend the FECF still does not have the key.
        let mut forged = up.clone();
        let tail = forged.len() - 2;
        forged[tail - 1] ^= 1;
        let check = sdls::check::fecf(&forged[..tail]).to_be_bytes();
        forged[tail..].copy_from_slice(&check);
        assert_eq!(refused(&mut space, &forged), "mac");
        // What was refused has closed nothing: the true one is still good, once.
        assert_eq!(process(&mut space, std::slice::from_ref(&up)), [data(64)]);
        assert_eq!(refused(&mut space, &up), "replay");
        assert_eq!(process(&mut ground, std::slice::from_ref(&down)), [packet(1, 64)]);
        assert_eq!(refused(&mut ground, &down), "replay");
        // Telemetry is no command, and plain messages are neither.
        refused(&mut space, &down);
        refused(&mut space, &data(64));
        refused(&mut ground, &packet(2, 64));
        assert_eq!(space.counters().refused["replay"], 1);
        assert_eq!(space.counters().refused["mac"], 1);
        assert_eq!(space.counters().messages_in, 1);
        let total: u64 = space.counters().refused.values().sum();
        assert_eq!(
            total + 1,
            space.counters().datagrams_in,
            "every datagram is either taken or counted as refused"
        );
    }
}

#[test]
fn a_refusal_says_what_a_user_can_look_for() {
    let reason = |link: &mut Link, datagram: &[u8]| link.process(datagram, NOW).unwrap_err().reason;
    for algorithm in BOTH {
        let (mut ground, mut space) = ends(algorithm);
        let up = apply(&mut ground, &data(64)).remove(0);
        let down = apply(&mut space, &packet(1, 64)).remove(0);
        process(&mut space, std::slice::from_ref(&up));
        assert_eq!(
            reason(&mut space, &up),
            "the number of a frame under security association 1 was used before, or is too old"
        );
        // Whole messages may have been sent without security; nothing else is asked about.
        let asked = "is it sent without --security?";
        for (taker, plain) in
            [(End::Space, data(64)), (End::Space, packet(2, 64)), (End::Ground, packet(2, 64))]
        {
            let link = if taker == End::Space { &mut space } else { &mut ground };
            assert!(reason(link, &plain).ends_with(asked));
            for part in [&plain[1..], &plain[..plain.len() - 1], &[&plain[..], &[0]].concat()] {
                assert!(!reason(link, part).contains(asked));
            }
        }
        for (link, other) in [(&mut space, &down), (&mut ground, &up)] {
            assert!(!reason(link, other).contains(asked));
        }
    }
}

#[test]
fn ends_with_other_keys_or_algorithms_refuse_each_other() {
    let other = SdlsConfig::new(Algorithm::Gcm, Keys { up: [3; 32], down: [4; 32] });
    let mut space = end(End::Space, &other);
    assert_eq!(refused(&mut space, &apply(&mut ends(Algorithm::Gcm).0, &data(9))[0]), "mac");
    refused(&mut space, &apply(&mut ends(Algorithm::Cmac).0, &data(9))[0]);
}

#[test]
fn losses_are_survived_and_what_is_only_in_part_there_is_counted() {
    for algorithm in BOTH {
        let (mut ground, mut space) = ends(algorithm);
        // A hundred frames lost in a row: no window is too narrow for that.
        for _ in 0..100 {
            apply(&mut ground, &data(10));
            apply(&mut space, &packet(0, 10));
        }
        assert_eq!(process(&mut space, &apply(&mut ground, &data(11))), [data(11)]);
        assert_eq!(process(&mut ground, &apply(&mut space, &packet(1, 11))), [packet(1, 11)]);
        let mut up = apply(&mut ground, &data(2000));
        up.remove(1);
        for datagram in &up {
            let _ = space.process(datagram, NOW);
        }
        assert_eq!(process(&mut space, &apply(&mut ground, &data(12))), [data(12)]);
        let mut down = apply(&mut space, &packet(2, 3000));
        down.remove(1);
        assert_eq!(process(&mut ground, &down), [[0; 0]; 0]);
        assert_eq!(process(&mut ground, &apply(&mut space, &packet(3, 13))), [packet(3, 13)]);
        assert!(space.incomplete() > 0 && ground.incomplete() > 0);
    }
}

#[test]
fn an_end_that_begins_again_with_a_greater_number_is_understood() {
    for algorithm in BOTH {
        let (mut ground, mut space) = ends(algorithm);
        assert_eq!(process(&mut space, &apply(&mut ground, &data(1))), [data(1)]);
        let mut same = end(End::Ground, &config(algorithm));
        assert_eq!(refused(&mut space, &apply(&mut same, &data(2))[0]), "replay");
        let later = SdlsConfig { first_number: 1_795_000_000_000_000_000, ..config(algorithm) };
        let mut later = end(End::Ground, &later);
        assert_eq!(process(&mut space, &apply(&mut later, &data(3))), [data(3)]);
    }
}

#[test]
fn only_whole_packets_are_taken() {
    for (algorithm, which) in BOTH.into_iter().zip([End::Ground, End::Space]) {
        let mut link = end(which, &config(algorithm));
        let longer = [&data(9)[..], b"x"].concat();
        for message in [&data(9)[..11], &longer, b""] {
            assert_eq!(link.apply(message, NOW).unwrap_err().code, "no-packet");
        }
        assert_eq!(link.counters().refused["no-packet"], 3);
    }
}

#[test]
fn impossible_configurations_are_refused() {
    let good = config(Algorithm::Gcm);
    let same = SdlsConfig { keys: Keys { up: [1; 32], down: [1; 32] }, ..good.clone() };
    assert_eq!(Sdls::new(End::Ground, &same).err(), Some(SdlsError::SameKey));
    // Header 6, SPI 2, IV 12, an idle packet 7, MAC 16, FECF 2.
    for (octets, fits) in [(44, false), (45, true), (2048, true), (2049, false)] {
        let frames = SdlsConfig { tm_frame_octets: octets, ..good.clone() };
        assert_eq!(Sdls::new(End::Space, &frames).is_ok(), fits, "{octets}");
    }
    let far = SdlsConfig { spacecraft: 1024, ..good.clone() };
    assert!(matches!(Sdls::new(End::Space, &far), Err(SdlsError::Spacecraft { spacecraft: 1024 })));
    assert!(format!("{good:?}").contains("keys: Keys { .. }"), "keys are not shown");
}

#[test]
fn a_gateway_writes_its_own_address_and_sends_to_ground_s() {
    let (mut ground, space) = ends(Algorithm::Gcm);
    let (here, far) = (Ipv4Addr::new(127, 0, 0, 2), Ipv4Addr::new(10, 9, 8, 7));
    let mut gateway = Gateway::new(space, here);
    // Telemetry before ground was heard of goes nowhere, and is counted.
    gateway.from_flight_software(&packet(0, 10), NOW).unwrap();
    assert_eq!((gateway.poll(NOW), gateway.unsent()), (None, 1));
    let other = bare(output::COMMAND, output::NOOP).unwrap();
    for (message, forwarded) in [(enable_output(far), enable_output(here)), (other.clone(), other)] {
        for datagram in apply(&mut ground, &message) {
            gateway.from_ground(&datagram, NOW).unwrap();
        }
        assert_eq!(gateway.poll(NOW), Some(Forward::ToFlightSoftware(forwarded)));
    }
    gateway.from_flight_software(&packet(1, 10), NOW).unwrap();
    let Some(Forward::ToGround(to, datagram)) = gateway.poll(NOW) else { panic!("nothing for ground") };
    assert_eq!((to, process(&mut ground, &[datagram])), (far, vec![packet(1, 10)]));
    // What is not ground's reaches no flight software.
    assert!(gateway.from_ground(&data(10), NOW).is_err());
    assert_eq!(gateway.poll(NOW), None);
    assert_eq!(gateway.counters().refused.values().sum::<u64>(), 1);
}

/// A security with a handshake: nothing is sent before the other end has answered, and a hello that was lost is sent
/// again. Such protocols must fit the trait.
#[derive(Default)]
struct Shaking {
    up: bool,
    hello: Option<Duration>,
    waiting: Vec<Vec<u8>>,
    outputs: std::collections::VecDeque<Output>,
}

impl LinkSecurity for Shaking {
    fn name(&self) -> &'static str {
        "shaking"
    }

    fn apply(&mut self, message: &[u8], now: Duration) -> Result<(), flight::security::Refusal> {
        if self.up {
            self.outputs.push_back(Output::Datagram([b"D", message].concat()));
        } else {
            self.waiting.push(message.to_vec());
            self.hello.get_or_insert(now);
        }
        Ok(())
    }

    fn process(&mut self, datagram: &[u8], _now: Duration) -> Result<(), flight::security::Refusal> {
        match datagram.split_first() {
            Some((b'H', _)) => self.outputs.push_back(Output::Datagram(b"A".to_vec())),
            Some((b'A', _)) => {
                (self.up, self.hello) = (true, None);
                for message in std::mem::take(&mut self.waiting) {
                    self.apply(&message, Duration::ZERO)?;
                }
            }
            Some((b'D', message)) => self.outputs.push_back(Output::Message(message.to_vec())),
            _ => return Err(flight::security::Refusal { code: "unknown", reason: "unknown".to_owned() }),
        }
        Ok(())
    }

    fn poll(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    fn next_timeout(&self) -> Option<Duration> {
        self.hello
    }

    fn handle_timeout(&mut self, now: Duration) {
        self.outputs.push_back(Output::Datagram(b"H".to_vec()));
        self.hello = Some(now + Duration::from_secs(1));
    }
}

#[test]
fn a_security_with_a_handshake_fits() {
    let [mut ground, mut space] = [0; 2].map(|_| Link::new(Box::new(Shaking::default())));
    ground.apply(b"command", NOW).unwrap();
    let hello = Output::Datagram(b"H".to_vec());
    assert_eq!(ground.poll(NOW), Some(hello.clone()));
    assert_eq!((ground.poll(NOW), ground.next_timeout()), (None, Some(Duration::from_secs(1))));
    // The first hello was lost.
    assert_eq!(ground.poll(Duration::from_secs(1)), Some(hello));
    space.process(b"H", NOW).unwrap();
    assert_eq!(space.poll(NOW), Some(Output::Datagram(b"A".to_vec())));
    ground.process(b"A", NOW).unwrap();
    assert_eq!(ground.poll(NOW), Some(Output::Datagram(b"Dcommand".to_vec())));
    space.process(b"Dcommand", NOW).unwrap();
    assert_eq!(space.poll(NOW), Some(Output::Message(b"command".to_vec())));
    assert_eq!(ground.next_timeout(), None);
}

proptest! {
    #[test]
    fn messages_of_any_length_come_out_as_they_went_in(
        sizes in vec(0_usize..3000, 1..12), gcm: bool, frame in 45_usize..2049,
    ) {
        let algorithm = if gcm { Algorithm::Gcm } else { Algorithm::Cmac };
        let config = SdlsConfig { tm_frame_octets: frame, ..config(algorithm) };
        let (mut ground, mut space) = (end(End::Ground, &config), end(End::Space, &config));
        for octets in sizes {
            prop_assert_eq!(process(&mut space, &apply(&mut ground, &data(octets))), [data(octets)]);
            let id = MessageId(0x0801);
            let down = telemetry(id, 0, FlightTime::default(), Subseconds::Bits16, &vec![5; octets]).unwrap();
            prop_assert_eq!(process(&mut ground, &apply(&mut space, &down)), [down.clone()]);
        }
        prop_assert_eq!((ground.incomplete(), space.incomplete()), (0, 0));
    }

    #[test]
    fn no_octets_make_an_end_panic_or_say_anything(
        octets in vec(any::<u8>(), 0..1200), place in any::<Index>(), cut in any::<Index>(), gcm: bool,
    ) {
        let (mut ground, mut space) = ends(if gcm { Algorithm::Gcm } else { Algorithm::Cmac });
        refused(&mut ground, &octets);
        refused(&mut space, &octets);
        // Good frames with other octets from some place on, or cut there.
        for (frame, taker) in [(apply(&mut ground, &data(99)), &mut space), (apply(&mut ends(Algorithm::Gcm).1, &packet(1, 99)), &mut ground)] {
            let mut frame = frame.into_iter().next().unwrap();
            let from = place.index(frame.len());
            let whole = frame.clone();
            for (octet, other) in frame[from..].iter_mut().zip(&octets) {
                *octet = *other;
            }
            if frame != whole {
                refused(taker, &frame);
            }
            refused(taker, &whole[..cut.index(whole.len())]);
        }
    }
}

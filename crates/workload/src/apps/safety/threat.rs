//! What an attacker with the sender's keys does to a message. To the transport it is the sender itself: it acts on the
//! message before that is sealed.
//!
//! ```text
//! sender ──▶ attacker ──▶ keys ──▶ network ──▶ keys ──▶ receiver
//! ```

use std::collections::BTreeMap;

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::Deserialize;
use transports::{SpecError, nanoseconds};

use super::message::SHORTEST_S;
use crate::verdicts::{Judged, THREAT};

/// After what time a copy follows.
const COPY_AFTER_S: f64 = 0.5;
/// Who sends an insertion: neither the trackside nor a train.
const STRANGER: u32 = 77;
/// What a forged message says: a place far from all that the application sends.
const FORGED_PLACE_MM: u64 = 250_000_000;
const MOST_BITS: u32 = 64;

/// A threat, as EN 50159 names them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Deed {
    Repetition,
    Deletion,
    Insertion,
    ReSequencing,
    Corruption,
    Delay,
    Masquerade,
}

impl Deed {
    fn name(self) -> &'static str {
        match self {
            Deed::Repetition => "repetition",
            Deed::Deletion => "deletion",
            Deed::Insertion => "insertion",
            Deed::ReSequencing => "re-sequencing",
            Deed::Corruption => "corruption",
            Deed::Delay => "delay",
            Deed::Masquerade => "masquerade",
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Params {
    kind: Deed,
    /// Which message is meant, counted from 1.
    message: u32,
    /// How late it gets, or after what time the copy follows.
    by_s: Option<f64>,
    /// How many bits turn over.
    bits: Option<u32>,
    /// Within how many in a row.
    burst_bits: Option<u32>,
}

/// What happens to which message.
pub(super) struct Threat {
    deed: Deed,
    /// From 0, as it stands in the message.
    number: u32,
    by_ns: i64,
    bits: u32,
    burst_bits: u32,
}

impl Threat {
    /// For `count` messages of so many bytes.
    pub(super) fn new(params: Params, count: u64, message_bytes: u32) -> Result<Self, SpecError> {
        let Params { kind: deed, message, by_s, bits, burst_bits } = params;
        let wrong = |why: String| SpecError::new(format!("`threat` in `app_params` of `safety`: {why}"));
        let last = if deed == Deed::ReSequencing { count.saturating_sub(1) } else { count };
        if !(1..=last).contains(&u64::from(message)) {
            return Err(wrong(format!(
                "`message` is {message}; it must be from 1 to {last} for a {}",
                deed.name()
            )));
        }
        if by_s.is_some() && !matches!(deed, Deed::Delay | Deed::Repetition) {
            return Err(wrong(format!("a {} has no `by_s`; leave it out", deed.name())));
        }
        if (bits.is_some() || burst_bits.is_some()) && deed != Deed::Corruption {
            return Err(wrong(format!(
                "a {} has neither `bits` nor `burst_bits`; leave them out",
                deed.name()
            )));
        }
        let by_s = match by_s {
            None if deed == Deed::Delay => {
                return Err(wrong("a delay needs `by_s`, how late the message gets".to_owned()));
            }
            by_s => by_s.unwrap_or(COPY_AFTER_S),
        };
        let room = message_bytes.saturating_mul(8);
        let (bits, burst_bits) = (bits.unwrap_or(1), burst_bits.unwrap_or(room));
        if !(1..=MOST_BITS).contains(&bits) || !(bits..=room).contains(&burst_bits) {
            return Err(wrong(format!(
                "{bits} bits within {burst_bits} cannot turn over; `bits` must be from 1 to {MOST_BITS}, \
                 `burst_bits` at least that and at most {room}"
            )));
        }
        Ok(Self {
            deed,
            number: message - 1,
            by_ns: nanoseconds("by_s", by_s, SHORTEST_S)?,
            bits,
            burst_bits,
        })
    }

    /// Turns bits over, the first and the last of a burst not necessarily among them.
    fn corrupt(&self, message: &mut [u8], random: &mut Xoshiro256PlusPlus) {
        let room = message.len() as u64 * 8;
        let burst = u64::from(self.burst_bits).min(room);
        let first = below(random, room - burst + 1);
        let mut places = Vec::new();
        while (places.len() as u64) < u64::from(self.bits).min(burst) {
            let place = first + below(random, burst);
            if !places.contains(&place) {
                message[place as usize / 8] ^= 0x80 >> (place % 8);
                places.push(place);
            }
        }
    }
}

/// A number below `bound`, each as likely but for 2^-64.
fn below(random: &mut Xoshiro256PlusPlus, bound: u64) -> u64 {
    ((u128::from(random.next_u64()) * u128::from(bound)) >> 64) as u64
}

/// Message `number + 1` as its sender never sent it, by somebody.
fn forged(message: &[u8], number: u32, sender: Option<u32>) -> Vec<u8> {
    let mut forged = message.to_vec();
    forged[..4].copy_from_slice(&(number + 1).to_le_bytes());
    if let Some(sender) = sender {
        forged[8..12].copy_from_slice(&sender.to_le_bytes());
    }
    forged[24..32].copy_from_slice(&FORGED_PLACE_MM.to_le_bytes());
    forged
}

/// Where messages pass the attacker, if there is one.
pub(super) struct Gateway<'a> {
    threat: Option<&'a Threat>,
    random: Xoshiro256PlusPlus,
    /// What is to go later, by when and by number.
    held: BTreeMap<(i64, u32), Vec<u8>>,
    /// What waits for the next message.
    waiting: Option<Vec<u8>>,
    /// What it did.
    pub(super) acts: Vec<Judged>,
}

impl<'a> Gateway<'a> {
    pub(super) fn new(threat: Option<&'a Threat>, seed: u64) -> Self {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        // Others than those of which the filler is made.
        random.jump();
        Self { threat, random, held: BTreeMap::new(), waiting: None, acts: Vec::new() }
    }

    /// What goes to the transport when the application sends message `number` at `now_ns`, in this order.
    pub(super) fn pass(&mut self, message: &[u8], number: u32, now_ns: i64) -> Vec<Vec<u8>> {
        let own = message.to_vec();
        if let Some(waited) = self.waiting.take() {
            self.note(now_ns, number - 1);
            return vec![own, waited];
        }
        let Some(threat) = self.threat.filter(|threat| threat.number == number) else { return vec![own] };
        self.note(now_ns, number);
        match threat.deed {
            Deed::Deletion => vec![],
            Deed::Delay => {
                self.held.insert((now_ns + threat.by_ns, number), own);
                vec![]
            }
            Deed::Repetition => {
                self.held.insert((now_ns + threat.by_ns, number), own.clone());
                vec![own]
            }
            Deed::ReSequencing => {
                self.waiting = Some(own);
                vec![]
            }
            Deed::Corruption => {
                let mut changed = own;
                threat.corrupt(&mut changed, &mut self.random);
                vec![changed]
            }
            Deed::Insertion => {
                let inserted = forged(message, number, Some(STRANGER));
                vec![own, inserted]
            }
            Deed::Masquerade => {
                let made = forged(message, number, None);
                vec![own, made]
            }
        }
    }

    /// When the next message that is held is due.
    pub(super) fn due_ns(&self) -> Option<i64> {
        self.held.keys().next().map(|(due_ns, _)| *due_ns)
    }

    /// That message and its number, which goes at `now_ns`.
    pub(super) fn release(&mut self, now_ns: i64) -> Option<(Vec<u8>, u32)> {
        let ((_, number), message) = self.held.pop_first()?;
        self.note(now_ns, number);
        Some((message, number))
    }

    fn note(&mut self, t_ns: i64, number: u32) {
        if let Some(threat) = self.threat {
            self.acts
                .push(Judged { number: Some(number), ..Judged::event(THREAT, t_ns, threat.deed.name()) });
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::super::message::{Fields, Kind, Messages, TRACKSIDE};
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    fn threat(params: Value) -> Result<Threat, SpecError> {
        Threat::new(serde_json::from_value(params).expect("it can be read"), 5, 64)
    }

    /// What goes to the transport of three messages, the first at 1 s, a second apart: when, number, sender and place.
    fn passed(params: Value) -> Vec<(i64, u32, u32, u64)> {
        let threat = threat(params).expect("it is right");
        let mut gateway = Gateway::new(Some(&threat), 5);
        let messages = Messages::new(Kind::PositionReport, 9, 64, 5);
        let mut found = Vec::new();
        for number in 0..3 {
            let now_ns = (1 + i64::from(number)) * SECOND;
            while gateway.due_ns().is_some_and(|due_ns| due_ns < now_ns) {
                let due_ns = gateway.due_ns().expect("there is one");
                found.extend(gateway.release(due_ns).map(|(message, _)| (due_ns, message)));
            }
            let message = messages.at(number, now_ns);
            found.extend(gateway.pass(&message, number, now_ns).into_iter().map(|it| (now_ns, it)));
        }
        assert!(gateway.acts.iter().all(|act| act.event == THREAT && act.number == Some(1)));
        assert_eq!(gateway.acts[0].t_ns, 2 * SECOND);
        let of = |(t_ns, message): (i64, Vec<u8>)| {
            let fields = Fields::of(&message).expect("it is whole");
            (t_ns / (SECOND / 10), fields.number, fields.from, fields.place_mm)
        };
        found.into_iter().map(of).collect()
    }

    #[test]
    fn each_threat_does_what_it_is_called() {
        let [one, two, three] = [(10, 0, 9, 0), (20, 1, 9, 50_000), (30, 2, 9, 100_000)];
        let of = |kind: &str| passed(json!({"kind": kind, "message": 2}));
        assert_eq!(of("deletion"), [one, three]);
        assert_eq!(of("repetition"), [one, two, (25, 1, 9, 50_000), three]);
        assert_eq!(of("re-sequencing"), [one, three, (30, 1, 9, 50_000)]);
        assert_eq!(of("insertion"), [one, two, (20, 2, STRANGER, FORGED_PLACE_MM), three]);
        assert_eq!(of("masquerade"), [one, two, (20, 2, 9, FORGED_PLACE_MM), three]);
        let late = passed(json!({"kind": "delay", "message": 2, "by_s": 0.7}));
        assert_eq!(late, [one, (27, 1, 9, 50_000), three]);
    }

    #[test]
    fn what_cannot_be_is_refused_in_a_sentence() {
        for (params, why) in [
            (json!({"kind": "deletion", "message": 6}), "`message` is 6; it must be from 1 to 5"),
            (json!({"kind": "re-sequencing", "message": 5}), "from 1 to 4 for a re-sequencing"),
            (json!({"kind": "delay", "message": 1}), "a delay needs `by_s`"),
            (json!({"kind": "deletion", "message": 1, "by_s": 1}), "a deletion has no `by_s`"),
            (json!({"kind": "deletion", "message": 1, "bits": 1}), "neither `bits` nor `burst_bits`"),
            (json!({"kind": "corruption", "message": 1, "bits": 5, "burst_bits": 4}), "5 bits within 4"),
        ] {
            let told = threat(params).err().expect("it is wrong").to_string();
            assert!(told.contains(why), "{told}");
        }
    }

    #[test]
    fn without_a_threat_messages_pass() {
        let mut gateway = Gateway::new(None, 5);
        let message = Messages::new(Kind::MovementAuthority, 9, 64, 5).at(1, 7);
        assert_eq!(gateway.pass(&message, 1, 7), [message]);
        assert!(gateway.acts.is_empty() && gateway.due_ns().is_none());
        assert_ne!(STRANGER, TRACKSIDE);
    }

    proptest! {
        #[test]
        fn as_many_bits_turn_over_as_were_asked_for(seed: u64, bits in 1_u32..=64, more in 0_u32..448) {
            let burst_bits = bits + more;
            let params = json!({"kind": "corruption", "message": 1, "bits": bits, "burst_bits": burst_bits});
            let threat = threat(params).expect("it is right");
            let message = vec![0; 64];
            let passed = Gateway::new(Some(&threat), seed).pass(&message, 0, 0);
            let changed = passed.concat();
            prop_assert_eq!(changed.iter().map(|byte| byte.count_ones()).sum::<u32>(), bits);
            let places: Vec<_> = (0..512_u32).filter(|at| changed[*at as usize / 8] & (0x80 >> (at % 8)) != 0).collect();
            prop_assert!(places[places.len() - 1] - places[0] < burst_bits);
        }
    }
}

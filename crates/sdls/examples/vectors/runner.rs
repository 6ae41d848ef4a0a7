//! Plays a vector with the library, and says what differs.

use sdls::crypto::default_engine;
use sdls::ep::{LengthUnit, Reply};
use sdls::frame::{AosFrame, TcFrame, TmFrame, UslpFrame};
use sdls::security::Security;

use super::convert::{Convert, channel, hex, key_kind, octets, parameters};
use super::format::{Expect, Frame, Key, Link, Operation, Step, Vector};

type Outcome<T> = Result<T, String>;

/// Plays a vector and fills in what comes of its steps where they do not say it. Returns what differs from what they say.
pub fn play(vector: &mut Vector) -> Vec<String> {
    match vector.link {
        Link::Tc { .. } => play_as::<TcFrame>(vector),
        Link::Tm { .. } => play_as::<TmFrame>(vector),
        Link::Aos { .. } => play_as::<AosFrame>(vector),
        Link::Uslp { .. } => play_as::<UslpFrame>(vector),
    }
}

fn play_as<F: Convert>(vector: &mut Vector) -> Vec<String> {
    let managed = F::parameters(&vector.link).expect("the link's own parameters");
    let mut sender = set_up(vector);
    let mut receiver = set_up(vector);
    let mut differences = Vec::new();
    for (place, step) in vector.steps.iter_mut().enumerate() {
        let difference = match step {
            Step::Encode { frame, expect } => settle(
                expect,
                library::<F>(frame).encode(&managed).map(|o| hex(&o)).map_err(|e| e.code().into()),
            ),
            Step::Decode { octets: given, expect } => settle(
                expect,
                F::decode(&octets(given), &managed).map(|frame| frame.shown()).map_err(|e| e.code().into()),
            ),
            Step::Apply { spi, frame, expect } => settle(
                expect,
                sender
                    .apply(*spi, &library::<F>(frame), &managed)
                    .map(|o| hex(&o))
                    .map_err(|e| e.code().into()),
            ),
            Step::Process { octets: given, expect } => settle(
                expect,
                receiver
                    .process::<F>(&octets(given), &managed)
                    .map(|processed| processed.frame.shown())
                    .map_err(|e| e.code().into()),
            ),
            Step::Command { octets: given, unit, carried_by, expect } => {
                let unit = if unit == "octets" { LengthUnit::Octets } else { LengthUnit::Bits };
                let reply = receiver.execute(&octets(given), unit, *carried_by);
                let reply =
                    reply.map(|reply| reply.map(|reply| hex(&reply.encode().expect("a short reply"))));
                settle(expect, reply.map(Option::unwrap_or_default).map_err(|e| e.code().into()))
            }
            Step::Operate { end, what, expect } => {
                let end = if end == "sender" { &mut sender } else { &mut receiver };
                settle(expect, operate(end, what).map(|()| String::new()))
            }
            Step::Proof { octets: given, challenges, expect } => {
                settle(expect, prove(&vector.keys, &octets(given), challenges).map(|()| String::new()))
            }
            Step::Report { expect } => settle(expect, Ok(hex(&receiver.report().encode()))),
        };
        differences.extend(difference.map(|text| format!("{}, step {place}: {text}", vector.name)));
    }
    differences
}

fn library<F: Convert>(frame: &Frame) -> F {
    F::of(frame).expect("a frame of the link's kind")
}

/// Compares what came with what is expected; fills it in if nothing is.
fn settle<T: Clone + PartialEq + std::fmt::Debug>(
    expect: &mut Expect<T>,
    outcome: Outcome<T>,
) -> Option<String> {
    if expect.gives.is_none() && expect.refused.is_none() {
        match outcome {
            Ok(value) => expect.gives = Some(value),
            Err(code) => return Some(format!("refused as {code}, which the vector does not say")),
        }
        return None;
    }
    let same = match (&outcome, &expect.gives, &expect.refused) {
        (Ok(value), Some(expected), None) => value == expected,
        (Err(code), None, Some(expected)) => code == expected,
        _ => false,
    };
    (!same).then(|| format!("{outcome:?} instead of {:?} {:?}", expect.gives, expect.refused))
}

fn set_up(vector: &Vector) -> Security {
    let mut end = Security::default();
    for key in &vector.keys {
        end.load_key(key.id, key_kind(&key.kind), &octets(&key.octets)).expect("a key");
        if ["active", "deactivated", "destroyed"].contains(&key.state.as_str()) {
            end.activate_key(key.id).expect("a fresh key");
        }
    }
    for association in &vector.associations {
        let spi = association.spi;
        end.create(spi, parameters(association)).unwrap_or_else(|error| panic!("{}: {error}", vector.name));
        if let Some(key) = association.key {
            end.rekey(spi, key, None).unwrap_or_else(|error| panic!("{}: {error}", vector.name));
        }
        if association.state == "operational" {
            let channels: Vec<_> = association.channels.iter().map(channel).collect();
            end.start(spi, &channels).expect("a keyed association");
        }
    }
    for key in vector.keys.iter().filter(|key| key.state == "deactivated" || key.state == "destroyed") {
        end.deactivate_key(key.id).expect("an active key");
        if key.state == "destroyed" {
            end.destroy_key(key.id).expect("a key of no association");
        }
    }
    end
}

fn prove(keys: &[Key], reply: &[u8], challenges: &[String]) -> Outcome<()> {
    let reply = Reply::decode(reply, LengthUnit::Bits).map_err(|error| error.code().to_string())?;
    let Reply::KeyProofs(proofs) = reply else { return Err("pdu-tag".into()) };
    if proofs.len() != challenges.len() {
        return Err("proof".into());
    }
    for (proof, challenge) in proofs.iter().zip(challenges) {
        let key = keys.iter().find(|key| key.id == proof.key).ok_or("key-unknown")?;
        let challenge = octets(challenge).try_into().map_err(|_| "a challenge has 16 octets")?;
        let holds = proof.holds(&*default_engine(), &octets(&key.octets), challenge);
        if holds != Ok(true) {
            return Err("proof".into());
        }
    }
    Ok(())
}

fn operate(end: &mut Security, what: &Operation) -> Outcome<()> {
    match what {
        Operation::Rekey { spi, key, iv } => {
            end.rekey(*spi, *key, iv.as_deref().map(octets).as_deref()).map_err(|e| e.code().into())
        }
        Operation::Start { spi, channels } => {
            let channels: Vec<_> = channels.iter().map(channel).collect();
            end.start(*spi, &channels).map_err(|e| e.code().into())
        }
        Operation::Stop { spi } => end.stop(*spi).map_err(|e| e.code().into()),
        Operation::Expire { spi } => end.expire(*spi).map_err(|e| e.code().into()),
        Operation::Delete { spi } => end.delete(*spi).map_err(|e| e.code().into()),
        Operation::SetLast { spi, value } => end.set_last(*spi, &octets(value)).map_err(|e| e.code().into()),
        Operation::Activate { key } => end.activate_key(*key).map_err(|e| e.code().into()),
        Operation::Deactivate { key } => end.deactivate_key(*key).map_err(|e| e.code().into()),
        Operation::Destroy { key } => end.destroy_key(*key).map_err(|e| e.code().into()),
    }
}

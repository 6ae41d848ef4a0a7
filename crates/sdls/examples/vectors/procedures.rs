//! Vectors of the extended procedures: every procedure done once, and every illegal step refused.

use sdls::channel::{ChannelId, Gvcid};
use sdls::crypto::default_engine;
use sdls::ep::{Command, KeyBlock, SaCreate};

use super::convert::{hex, octets};
use super::format::{Channel, Expect, Source, Step, Vector};
use super::suites::{association, key_of, protocol};

fn step(command: &Command, refused: Option<&str>) -> Step {
    carried(command, None, refused)
}

fn carried(command: &Command, carried_by: Option<u16>, refused: Option<&str>) -> Step {
    let octets = hex(&command.encode().expect("a short command"));
    let expect = Expect { gives: None, refused: refused.map(Into::into) };
    Step::Command { octets, unit: "bits".into(), carried_by, expect }
}

fn raw(octets: &str, refused: &str) -> Step {
    let expect = Expect { gives: None, refused: Some(refused.into()) };
    Step::Command { octets: octets.into(), unit: "bits".into(), carried_by: None, expect }
}

fn create(spi: u16) -> SaCreate {
    SaCreate {
        spi,
        encrypts: true,
        authenticates: true,
        iv_transmitted: 12,
        sequence_transmitted: 0,
        pad_length_octets: 0,
        mac_octets: 16,
        cipher: vec![1],
        iv: vec![0; 12],
        authentication: vec![],
        mask: vec![],
        sequence: vec![],
        window: vec![5],
    }
}

const MASTER: [u8; 32] = [0x4D; 32];

fn block(iv: u8, keys: &[(u16, &[u8])]) -> KeyBlock {
    KeyBlock::seal(&*default_engine(), 1, &MASTER, [iv; 12], keys).expect("AES-GCM")
}

pub fn vectors() -> Vec<Vector> {
    vec![keys(), associations(), matrix(), malformed()]
}

fn vector(name: &str, about: &str, steps: Vec<Step>) -> Vector {
    let (link, ..) = protocol(0, b"", 0, true);
    let mut master = key_of(1, "master", 32, 0);
    master.octets = hex(&MASTER);
    let source = Source::Own("own".into());
    let keys = vec![master, key_of(2, "cipher", 32, 2), key_of(3, "mac", 32, 3)];
    Vector { name: name.into(), about: about.into(), source, link, keys, associations: vec![], steps }
}

fn keys() -> Vector {
    let (one, two): (&[u8], &[u8]) = (&[0x11; 32], &[0x22; 32]);
    let mut forged = block(1, &[(200, one)]);
    forged.sealed[3] ^= 1;
    let mut no_master = block(2, &[(200, one)]);
    no_master.master = 2;
    let challenge = |key, octet| (key, [octet; 16]);
    let steps = vec![
        step(&Command::Otar(forged), Some("otar-mac")),
        step(&Command::Otar(no_master), Some("key-kind")),
        step(&Command::Otar(block(3, &[(200, one), (200, two)])), Some("otar-contents")),
        step(&Command::Otar(block(4, &[(200, &one[..31])])), Some("otar-contents")),
        step(&Command::Otar(block(5, &[])), Some("otar-contents")),
        step(&Command::Otar(block(6, &[(2, one)])), Some("key-exists")),
        step(&Command::KeyInventory { first: 0, last: 65_535 }, None),
        step(&Command::Otar(block(7, &[(200, one), (201, two)])), None),
        step(&Command::KeyInventory { first: 2, last: 201 }, None),
        step(&Command::KeyInventory { first: 3, last: 2 }, Some("pdu-value")),
        step(&Command::VerifyKeys(vec![challenge(200, 1), challenge(2, 2)]), None),
        step(&Command::VerifyKeys(vec![challenge(200, 1)]), None),
        step(&Command::VerifyKeys(vec![challenge(202, 1)]), Some("key-unknown")),
        step(&Command::DeactivateKeys(vec![200]), Some("key-state")),
        step(&Command::ActivateKeys(vec![200, 202]), Some("key-unknown")),
        step(&Command::ActivateKeys(vec![200, 200]), Some("pdu-value")),
        step(&Command::ActivateKeys(vec![200, 201]), None),
        step(&Command::ActivateKeys(vec![201]), Some("key-state")),
        step(&Command::DestroyKeys(vec![201]), Some("key-state")),
        step(&Command::DeactivateKeys(vec![201]), None),
        step(&Command::VerifyKeys(vec![challenge(201, 1)]), Some("key-state")),
        step(&Command::DestroyKeys(vec![201]), None),
        step(&Command::Otar(block(8, &[(201, one)])), None),
        step(&Command::KeyInventory { first: 0, last: 255 }, None),
    ];
    vector(
        "ep-keys",
        "keys are uploaded, activated, proved, deactivated and erased, in that order only",
        steps,
    )
}

fn channels() -> Vec<ChannelId> {
    let gvcid = Gvcid { version: 0, spacecraft: 44, channel: 1 };
    vec![ChannelId::whole(gvcid), ChannelId { gvcid, map: Some(5) }]
}

fn associations() -> Vector {
    let rekey = |spi, key, iv: &str| Command::Rekey { spi, key, iv: octets(iv) };
    let mut weak = create(8);
    weak.mac_octets = 0;
    let mut unknown = create(8);
    unknown.cipher = vec![9];
    let mut code = create(8);
    (code.encrypts, code.iv_transmitted, code.iv) = (false, 0, vec![]);
    (code.authentication, code.sequence_transmitted, code.sequence) = (vec![1], 4, vec![0; 4]);
    let steps = vec![
        step(&Command::Ping, None),
        step(&Command::SelfTest, None),
        step(&Command::LogStatus, None),
        step(&Command::Status(7), Some("sa-unknown")),
        step(&Command::Create(create(0)), Some("sa-parameters")),
        step(&Command::Create(weak), Some("sa-parameters")),
        step(&Command::Create(unknown), Some("sa-suite")),
        step(&Command::Create(create(7)), None),
        step(&Command::Create(create(7)), Some("sa-exists")),
        step(&Command::Status(7), None),
        step(&rekey(7, 3, ""), Some("key-kind")),
        step(&rekey(7, 2, "00"), Some("sa-counter")),
        step(&rekey(7, 2, "000000000000000000000010"), None),
        step(&Command::ReadSequence(7), None),
        carried(&Command::Start { spi: 7, channels: channels() }, Some(7), Some("sa-carries-command")),
        carried(&Command::Start { spi: 7, channels: channels() }, Some(8), None),
        carried(&Command::ReadSequence(7), Some(7), None),
        step(&Command::SetSequence { spi: 7, last: vec![0xFF; 12] }, None),
        step(&Command::ReadSequence(7), None),
        step(&Command::SetSequence { spi: 7, last: vec![0; 4] }, Some("sa-counter")),
        step(&Command::SetWindow { spi: 7, window: vec![0, 9] }, None),
        step(&Command::SetWindow { spi: 7, window: vec![0; 9] }, Some("pdu-value")),
        step(&Command::Status(7), None),
        step(&Command::Create(code), None),
        step(&rekey(8, 2, ""), Some("key-kind")),
        step(&rekey(8, 3, ""), None),
        step(&Command::Stop(7), None),
        step(&Command::Expire(7), None),
        step(&Command::Delete(7), None),
        step(&Command::Delete(7), Some("sa-unknown")),
        step(&Command::DumpLog, None),
        step(&Command::EraseLog, None),
        step(&Command::ResetAlarm, None),
    ];
    vector("ep-associations", "an association is made, keyed, started, stopped, expired and deleted", steps)
}

/// Each step in each state: legal from one state only.
fn matrix() -> Vector {
    let mut vector =
        vector("ep-matrix", "each step of an association in each state: legal from one of them only", vec![]);
    let channel = Channel { version: 0, spacecraft: 44, channel: 1, map: None };
    vector.keys.extend([key_of(4, "cipher", 32, 4), key_of(5, "cipher", 32, 5), key_of(6, "cipher", 32, 6)]);
    for (spi, state, key) in [(10, "unkeyed", None), (11, "keyed", Some(4)), (12, "operational", Some(5))] {
        let mut association = association(1, channel);
        (association.spi, association.state, association.key) = (spi, state.into(), key);
        vector.associations.push(association);
    }
    let steps = |spi| {
        [
            Command::Rekey { spi, key: 6, iv: vec![] },
            Command::Start { spi, channels: channels() },
            Command::Stop(spi),
            Command::Expire(spi),
            Command::Delete(spi),
        ]
    };
    // The states in which the five steps are legal, in their order.
    let legal = [10, 11, 12, 11, 10];
    for spi in [10, 11, 12] {
        for (command, legal) in steps(spi).iter().zip(legal) {
            if spi != legal {
                vector.steps.push(step(command, Some("sa-transition")));
            }
        }
    }
    for spi in [10, 11, 12] {
        vector.steps.push(step(&Command::Create(create(spi)), Some("sa-exists")));
        let before: &[usize] = match spi {
            10 => &[0, 1, 2, 3, 4],
            11 => &[1, 2, 3, 4],
            _ => &[2, 3, 4],
        };
        vector.steps.extend(before.iter().map(|place| step(&steps(spi)[*place], None)));
    }
    vector
}

fn malformed() -> Vector {
    let steps = vec![
        raw("", "pdu-too-short"),
        raw("3100", "pdu-too-short"),
        raw("310008", "pdu-length"),
        raw("31000000", "pdu-length"),
        raw("310004", "pdu-length"),
        raw("050000", "pdu-tag"),
        raw("710000", "pdu-tag"),
        raw("b10000", "pdu-reply"),
        raw("31000855", "pdu-value"),
        raw("1e000807", "pdu-value"),
        raw("1e0018000707", "pdu-value"),
        raw("020008aa", "pdu-value"),
        raw("04001000ff", "pdu-value"),
        raw("1b00280007000000", "pdu-value"),
        raw("1b00280007000000aa", "pdu-length"),
        raw("1b0018000700", "pdu-value"),
        raw("01001000010000", "pdu-length"),
        raw("0100100001", "pdu-value"),
        raw("11001000070000", "pdu-length"),
        raw("1100280007cc0010ff", "pdu-length"),
        raw("1100300007cc0010ff", "pdu-value"),
    ];
    vector("ep-malformed", "commands that are none are refused, and change nothing", steps)
}

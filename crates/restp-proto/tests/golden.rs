//! Golden vectors: every packet under `tests/vectors` decodes to what its JSON file says and encodes to its hex file.

use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use restp_proto::wire::{
    CapableFlags, DecodeError, Decoded, ErrorBits, Flags, Flow, Frame, JoinStep, MpCapable, Multipath, Order,
    Packet, PathMode, PayloadCheck, PseudoHeader, Report, Scheduler, Sequence, Version,
};
use ring::aead::{AES_256_GCM, Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
use serde_json::{Map, Value, json};

#[path = "../fuzz/bodies/decode.rs"]
mod fuzz_body;

fn vectors_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors")
}

struct Vector {
    name: String,
    json: Value,
    octets: Vec<u8>,
}

impl Vector {
    fn pseudo(&self) -> Option<PseudoHeader> {
        let pseudo = self.json.get("pseudo_header")?;
        let address = |key: &str| pseudo[key].as_str().unwrap().parse::<IpAddr>().unwrap();
        let protocol = u8::try_from(pseudo["protocol"].as_u64().unwrap()).unwrap();
        Some(match (address("source"), address("destination")) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => {
                PseudoHeader::V4 { source, destination, protocol }
            }
            (IpAddr::V6(source), IpAddr::V6(destination)) => {
                PseudoHeader::V6 { source, destination, protocol }
            }
            mixed => panic!("{}: addresses of two families: {mixed:?}", self.name),
        })
    }
}

fn vectors() -> Vec<Vector> {
    let mut vectors = Vec::new();
    for entry in fs::read_dir(vectors_dir()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "json") {
            let json = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
            let text = fs::read_to_string(path.with_extension("hex")).unwrap();
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            vectors.push(Vector { name, json, octets: from_hex(&text) });
        }
    }
    vectors.sort_by(|a, b| a.name.cmp(&b.name));
    vectors
}

fn from_hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    let octet = |pair: &[u8; 2]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    let (pairs, odd) = digits.as_chunks::<2>();
    assert!(odd.is_empty(), "a hex file ends with half an octet: {text}");
    pairs.iter().map(octet).collect()
}

fn hex(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}

fn names<F: bitflags::Flags>(flags: &F) -> Vec<String> {
    flags.iter_names().map(|(name, _)| name.to_owned()).collect()
}

fn capable_names(flags: CapableFlags) -> Vec<&'static str> {
    let short = |name| match name {
        "CHECKS" => "A",
        "HMAC_SHA256" => "G",
        "HMAC_SHA1" => "H",
        other => other,
    };
    flags.iter_names().map(|(name, _)| short(name)).collect()
}

/// The packet in the words of the JSON files.
fn describe(decoded: &Decoded<'_>) -> Value {
    let packet = &decoded.packet;
    let header = &packet.header;
    json!({
        "header": {
            "version": match header.version { Version::Clear => 0, Version::Protected => 1 },
            "flags": names::<Flags>(&header.flags),
            "order": match header.order {
                Order::None => "none",
                Order::Partial => "PAR",
                Order::Full => "FUL",
                Order::Streams => "streams",
                other => panic!("an order that no vector has: {other:?}"),
            },
            "flow": names::<Flow>(&header.flow),
            "error": names::<ErrorBits>(&header.error),
            "path_mode": match header.path_mode {
                PathMode::Single => "single",
                PathMode::HotStandby => "standby",
                PathMode::Spreading => "spreading",
            },
            "scheduler": match header.scheduler {
                Scheduler::Unset => "none",
                Scheduler::RoundRobin => "RRS",
                Scheduler::LowestRtt => "FRS",
                Scheduler::Both => "copies",
            },
            "cong": header.cong.value(),
            "k": header.k,
            "corruption_echo": header.corruption_echo,
            "source_port": header.source_port,
            "destination_port": header.destination_port,
        },
        "header_words": decoded.header_bytes / 4,
        "extensions": extensions(packet),
        "payload": hex(packet.payload),
        "payload_check": match decoded.payload_check {
            PayloadCheck::Absent => "absent",
            PayloadCheck::Good => "good",
            PayloadCheck::Corrupt => "corrupt",
        },
    })
}

fn extensions(packet: &Packet<'_>) -> Value {
    let mut found = Map::new();
    let mut put = |name: &str, value: Value| assert!(found.insert(name.to_owned(), value).is_none());
    if let Some(protection) = packet.protection {
        put(
            "protection",
            json!({
                "epoch": protection.epoch,
                "subflow": protection.subflow,
                "packet_number": protection.packet_number,
            }),
        );
    }
    if let Some(window) = packet.window {
        put("window", json!(window));
    }
    if let Some(cookie) = packet.cookie {
        put("cookie", json!(hex(cookie.as_bytes())));
    }
    match packet.multipath {
        None => {}
        Some(Multipath::Capable(MpCapable::OneKey { flags, key })) => {
            put("mp_capable", json!({"flags": capable_names(flags), "keys": [format!("{key:016x}")]}));
        }
        Some(Multipath::Capable(MpCapable::BothKeys { flags, initiator_key, responder_key })) => {
            let keys = [format!("{initiator_key:016x}"), format!("{responder_key:016x}")];
            put("mp_capable", json!({"flags": capable_names(flags), "keys": keys}));
        }
        Some(Multipath::Join(join)) => {
            let mut word = json!({"backup": join.backup, "address_id": join.address_id});
            match join.step {
                JoinStep::Syn { token, nonce } => {
                    word["token"] = json!(token);
                    word["nonce"] = json!(nonce);
                }
                JoinStep::SynAck { mac, nonce } => {
                    word["mac"] = json!(hex(&mac));
                    word["nonce"] = json!(nonce);
                }
                JoinStep::Ack { mac } => word["mac"] = json!(hex(&mac)),
            }
            put("mp_join", word);
        }
        Some(Multipath::Priority(priority)) => {
            put("mp_priority", json!({"backup": priority.backup, "address_id": priority.address_id}));
        }
    }
    if let Some(dss) = packet.dss {
        let mut signal = Map::new();
        if let Some(data_ack) = dss.data_ack {
            signal.insert("data_ack".into(), json!(data_ack));
        }
        if let Some(mapping) = dss.mapping {
            signal.insert("data_sequence".into(), json!(mapping.data_sequence));
            signal.insert("subflow_sequence".into(), json!(mapping.subflow_sequence));
            signal.insert("length".into(), json!(mapping.length));
            if mapping.data_fin {
                signal.insert("data_fin".into(), json!(true));
            }
            if mapping.payload_crc.is_some() {
                signal.insert("payload_crc".into(), json!(true));
            }
        }
        put("dss", Value::Object(signal));
    }
    if let Some(fec) = packet.fec {
        put("fec", json!({"type": fec.kind, "range": fec.range}));
    }
    match packet.sequence {
        Sequence::None => {}
        Sequence::Seq(sequence) => put("sequence", json!(sequence)),
        Sequence::Arq(arq) => {
            put("sequence", json!(arq.sequence));
            put("acknowledgement", json!(arq.acknowledgement));
        }
    }
    match packet.report {
        Report::None => {}
        Report::Sack(blocks) => {
            let blocks: Vec<[u32; 2]> = blocks.iter().map(|block| [block.left, block.right]).collect();
            put("sack", json!(blocks));
        }
        Report::Snack(snack) => {
            let Sequence::Arq(arq) = packet.sequence else { panic!("a SNACK without ARQ extension") };
            let missing: Vec<u32> = snack.missing(arq.acknowledgement).collect();
            put(
                "snack",
                json!({
                    "offset": snack.hole.offset,
                    "size": snack.hole.size,
                    "vector": hex(snack.vector),
                    "missing": missing,
                }),
            );
        }
    }
    Value::Object(found)
}

fn reason(error: DecodeError) -> &'static str {
    match error {
        DecodeError::TooShort { .. } => "too_short",
        DecodeError::UnknownVersion { .. } => "unknown_version",
        DecodeError::HeaderTooSmall { .. } => "header_too_small",
        DecodeError::HeaderBeyondDatagram { .. } => "header_beyond_datagram",
        DecodeError::HeaderCorrupt => "header_corrupt",
        DecodeError::ReservedBits { .. } => "reserved_bits",
        DecodeError::Contradiction { .. } => "contradiction",
        DecodeError::ExtensionCut { .. } => "extension_cut",
        DecodeError::UnclaimedWords { .. } => "unclaimed_words",
        DecodeError::CookieLength { .. } => "cookie_length",
        DecodeError::SackLength { .. } => "sack_length",
        DecodeError::VectorWithoutSak => "vector_without_sak",
        DecodeError::EmptyHole => "empty_hole",
        DecodeError::TagCut { .. } => "tag_cut",
    }
}

/// R-HDR-1, R-HDR-2, R-HDR-3, R-HDR-4, R-HDR-5, R-HDR-6, R-HDR-7, R-EXT-1, R-EXT-2, R-EXT-3, R-CRC-2, R-CRC-3, R-CRC-4,
/// R-CRC-5, R-WIN-1, R-COOKIE-1, R-COOKIE-2, R-COOKIE-4, R-MPC-1, R-MPC-2, R-MPJ-1, R-MPJ-2, R-MPP-1, R-DSS-1, R-DSS-4, R-FEC-1,
/// R-FEC-2, R-ARQ-1, R-ARQ-2, R-SEQ-1, R-SACK-1, R-SACK-2, R-SNACK-1, R-SNACK-2, R-SNACK-3, R-SNACK-4
#[test]
fn every_vector_decodes_to_what_its_json_file_says() {
    let vectors = vectors();
    assert!(vectors.len() >= 90, "only {} vectors were found", vectors.len());
    for vector in vectors {
        let pseudo = vector.pseudo();
        let result = Packet::decode(&vector.octets, pseudo.as_ref());
        if let Some(drop) = vector.json.get("drop") {
            let error = result.expect_err(&vector.name);
            assert_eq!(reason(error), drop.as_str().unwrap(), "{}: {error}", vector.name);
            continue;
        }
        let decoded = result.unwrap_or_else(|error| panic!("{}: {error}", vector.name));
        let described = describe(&decoded);
        for key in ["header", "header_words", "extensions", "payload", "payload_check"] {
            assert_eq!(described[key], vector.json[key], "{}: {key}", vector.name);
        }
        let tag = vector.json.get("tag").map_or("", |tag| tag.as_str().unwrap());
        let after_payload = decoded.header_bytes + decoded.packet.payload.len();
        assert_eq!(hex(&vector.octets[after_payload..]), tag, "{}: tag", vector.name);
    }
}

/// R-EXT-2, R-PROT-6
#[test]
fn every_valid_vector_encodes_to_its_hex_file() {
    for vector in vectors().iter().filter(|vector| vector.json.get("drop").is_none()) {
        let pseudo = vector.pseudo();
        let decoded = Packet::decode(&vector.octets, pseudo.as_ref()).unwrap();
        let mut written = Vec::new();
        let header_bytes = decoded.packet.encode(&mut written, pseudo.as_ref()).unwrap();
        assert_eq!(header_bytes, decoded.header_bytes, "{}", vector.name);
        if decoded.packet.is_sealed() {
            let tag = from_hex(vector.json["tag"].as_str().unwrap());
            let tag_at = written.len() - tag.len();
            written[tag_at..].copy_from_slice(&tag);
        }
        if decoded.payload_check == PayloadCheck::Corrupt {
            // The encoder writes the CRC of the payload it was given, so only the rest can be equal.
            assert_eq!(written[..12], vector.octets[..12], "{}", vector.name);
            assert_eq!(written[20..], vector.octets[20..], "{}", vector.name);
        } else {
            assert_eq!(hex(&written), hex(&vector.octets), "{}", vector.name);
        }
    }
}

/// R-HDR-10: which reason is found first. Other decoders are held against the same file.
#[test]
fn damaged_datagrams_are_judged_as_the_file_says() {
    let text = fs::read_to_string(vectors_dir().join("damaged.txt")).unwrap();
    for line in text.lines() {
        let (octets, verdict) = line.split_once(' ').unwrap();
        let found = Packet::decode(&from_hex(octets), None).map_or_else(reason, |_| "ok");
        assert_eq!(found, verdict, "{octets}");
    }
    assert!(text.lines().count() > 400);
}

fn frame(frame: &Frame<'_>) -> Value {
    match *frame {
        Frame::Data { stream, offset, fin, data } => {
            json!({ "data": { "stream": stream, "offset": offset, "fin": fin, "data": hex(data) } })
        }
        Frame::Reset { stream, code, final_bytes } => {
            json!({ "reset": { "stream": stream, "code": code, "final_length": final_bytes } })
        }
        Frame::Stop { stream, code } => json!({ "stop": { "stream": stream, "code": code } }),
        Frame::Credit { limit_bytes } => json!({ "credit": { "limit": limit_bytes } }),
        Frame::StreamCredit { stream, limit_bytes } => {
            json!({ "stream_credit": { "stream": stream, "limit": limit_bytes } })
        }
        Frame::Streams { one_way, limit } => json!({ "streams": { "limit": limit, "one_way": one_way } }),
        Frame::Priority { stream, urgency, incremental } => {
            json!({ "priority": { "stream": stream, "urgency": urgency, "turns": incremental } })
        }
        _ => panic!("a frame that no vector has: {frame:?}"),
    }
}

/// R-STR-2, R-STR-3
#[test]
fn payloads_of_frames_are_read_and_written_as_their_json_files_say() {
    let mut kinds = std::collections::BTreeSet::new();
    for vector in vectors() {
        let Some(wanted) = vector.json.get("frames").and_then(Value::as_array) else { continue };
        let payload = from_hex(vector.json["payload"].as_str().unwrap());
        let (mut rest, mut found, mut written) = (&payload[..], Vec::new(), Vec::new());
        let fault = loop {
            if rest.is_empty() {
                break false;
            }
            match Frame::decode(&mut rest) {
                Ok(next) => {
                    next.encode(&mut written);
                    found.push(frame(&next));
                }
                Err(_) => break true,
            }
        };
        assert_eq!(&found, wanted, "{}", vector.name);
        assert_eq!(fault, vector.json.get("frames_fault").is_some(), "{}", vector.name);
        assert!(payload.starts_with(&written) && (fault || payload == written), "{}", vector.name);
        kinds.extend(found.iter().flat_map(|frame| frame.as_object().unwrap().keys().cloned()));
    }
    assert_eq!(kinds.len(), 7, "{kinds:?}");
}

/// R-PROT-5, R-PROT-6: nonce and associated data are those under which another implementation sealed the vectors.
#[test]
fn sealed_vectors_open_with_the_nonce_and_associated_data_of_the_codec() {
    let mut opened = 0;
    for vector in vectors() {
        let Some(sealing) = vector.json.get("sealing") else { continue };
        let text = |key: &str| from_hex(sealing[key].as_str().unwrap());
        let decoded = Packet::decode(&vector.octets, None).unwrap();
        let number = decoded.packet.protection.unwrap().nonce();
        let (algorithm, number) = match sealing["aead"].as_str().unwrap() {
            "ChaChaPoly" => (&CHACHA20_POLY1305, number.to_le_bytes()),
            "AESGCM" => (&AES_256_GCM, number.to_be_bytes()),
            other => panic!("{}: unknown AEAD {other}", vector.name),
        };
        let mut nonce = [0; 12];
        nonce[4..].copy_from_slice(&number);
        let data = Aad::from(&vector.octets[..decoded.header_bytes]);
        let key = LessSafeKey::new(UnboundKey::new(algorithm, &text("key")).unwrap());
        let mut body = vector.octets[decoded.header_bytes..].to_vec();
        let plaintext = key.open_in_place(Nonce::assume_unique_for_key(nonce), data, &mut body);
        assert_eq!(plaintext.unwrap(), text("plaintext"), "{}", vector.name);
        opened += 1;
    }
    assert_eq!(opened, 3, "sealed vectors");
}

#[test]
fn the_specification_shows_the_same_octets() {
    let spec = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/restp-spec.md");
    let spec = fs::read_to_string(spec).unwrap();
    for vector in vectors() {
        let (_, after) = spec
            .split_once(&format!("**{}**: ", vector.name))
            .unwrap_or_else(|| panic!("the specification does not show the vector {}", vector.name));
        let block = after.split("```").nth(1).unwrap();
        assert_eq!(hex(&from_hex(block)), hex(&vector.octets), "{}", vector.name);
    }
}

/// R-ERR-1: the fuzzer's body over its corpus, and over every vector with octets replaced, inserted and removed.
#[test]
fn the_decoders_fuzz_body_holds_on_corpus_and_damaged_vectors() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus/decode");
    let mut files = 0;
    for entry in fs::read_dir(corpus).unwrap() {
        fuzz_body::decode(&fs::read(entry.unwrap().path()).unwrap());
        files += 1;
    }
    assert!(files > 0, "the corpus of the decoder is empty");

    // A multiplicative generator (Park and Miller): no randomness, so a failure repeats.
    let mut state = 48_271u64;
    let mut draw = |below: usize| {
        state = state * 48_271 % 2_147_483_647;
        usize::try_from(state).unwrap() % below
    };
    for vector in vectors() {
        fuzz_body::decode(&vector.octets);
        for _ in 0..200 {
            let mut octets = vector.octets.clone();
            for _ in 0..=draw(3) {
                let at = draw(octets.len() + 1);
                let octet = u8::try_from(draw(256)).unwrap();
                match draw(3) {
                    0 if at < octets.len() => octets[at] = octet,
                    1 if at < octets.len() => drop(octets.remove(at)),
                    _ => octets.insert(at, octet),
                }
            }
            fuzz_body::decode(&octets);
        }
    }
}

//! The library's own vectors: what a frame of each protocol becomes under each algorithm, and what must be refused.

use super::convert::{hex, octets};
use super::format::{
    Aos, Association, Channel, Expect, File, Frame, Key, Link, Operation, Source, Step, Tc, Tm, Uslp, Vector,
};
use super::runner::play;
use super::suites::{KEY, KINDS, SPI, SUITES, association, key_of, overhead, protocol, suite_key};

fn vector(name: String, about: &str, link: Link, key: Key, association: Association) -> Vector {
    let source = Source::Own("own".into());
    Vector {
        name,
        about: about.into(),
        source,
        link,
        keys: vec![key],
        associations: vec![association],
        steps: vec![],
    }
}

fn apply(frame: &Frame) -> Step {
    Step::Apply { spi: SPI, frame: frame.clone(), expect: Expect::default() }
}

fn process(octets: String, refused: Option<&str>) -> Step {
    Step::Process { octets, expect: Expect { gives: None, refused: refused.map(Into::into) } }
}

fn encode(frame: Frame, refused: &str) -> Step {
    Step::Encode { frame, expect: Expect { gives: None, refused: Some(refused.into()) } }
}

fn operate(end: &str, what: Operation, refused: Option<&str>) -> Step {
    let gives = refused.is_none().then(String::new);
    Step::Operate { end: end.into(), what, expect: Expect { gives, refused: refused.map(Into::into) } }
}

/// The octets that the sender of `vector` makes of `frames`.
fn protected(vector: &Vector, frames: &[Frame]) -> Vec<String> {
    let mut probe = vector.clone();
    probe.steps = frames.iter().map(apply).collect();
    let differences = play(&mut probe);
    assert!(differences.is_empty(), "{differences:?}");
    probe
        .steps
        .into_iter()
        .map(|step| match step {
            Step::Apply { expect: Expect { gives: Some(octets), .. }, .. } => octets,
            _ => unreachable!("only frames were applied"),
        })
        .collect()
}

/// Each protocol under each suite: protected, opened, refused the second time and when changed.
fn positive() -> Vec<Vector> {
    let mut vectors = Vec::new();
    for (kind, kind_name) in KINDS.iter().enumerate() {
        for (suite, (suite_name, ..)) in SUITES.iter().enumerate() {
            let data = b"sixteen octets and three".as_slice();
            let probe = association(suite, Channel { version: 0, spacecraft: 0, channel: 0, map: None });
            let (link, channel, frame) = protocol(kind, data, overhead(&probe), true);
            let about = "two frames are protected and opened; neither is taken a second time";
            let mut vector = vector(
                format!("{kind_name}-{suite_name}"),
                about,
                link,
                suite_key(suite, 7),
                association(suite, channel),
            );
            let sent = protected(&vector, &[frame.clone(), frame.clone()]);
            vector.steps = vec![
                apply(&frame),
                apply(&frame),
                process(sent[0].clone(), None),
                process(sent[1].clone(), None),
                process(sent[0].clone(), Some("replay")),
                process(sent[1].clone(), Some("replay")),
                Step::Report { expect: Expect::default() },
            ];
            vectors.push(vector);
        }
    }
    vectors
}

/// Counters at their ends, in part, and against replay.
fn counters() -> Vec<Vector> {
    let data = b"data";
    let (link, channel, frame) = protocol(0, data, 0, true);
    let mut vectors = Vec::new();
    let mut make = |name: &str, about: &str, change: &dyn Fn(&mut Association), suite: usize| {
        let mut association = association(suite, channel);
        change(&mut association);
        vectors.push(vector(name.into(), about, link.clone(), suite_key(suite, 9), association));
        vectors.len() - 1
    };
    let partial = make(
        "iv-in-part",
        "the lower two octets of the IV are transmitted; the others carry over",
        &|a| {
            a.iv = "00000000000000000000fffe".into();
            a.iv_transmitted = 2;
        },
        1,
    );
    let last_iv = make(
        "iv-rollover",
        "the last IV is used, and none after it",
        &|a| a.iv = "fffffffffffffffffffffffe".into(),
        1,
    );
    let last_sequence = make(
        "sequence-rollover",
        "the last sequence number is used, and none after it",
        &|a| {
            a.sequence = "fffe".into();
            a.sequence_transmitted = 2;
        },
        6,
    );
    let window = make("window", "five numbers above the last one are taken, no less and no more", &|_| {}, 6);
    let both = make(
        "iv-and-sequence",
        "the sequence number serves against replay where there are both",
        &|a| {
            a.sequence = "0000".into();
            a.sequence_transmitted = 1;
        },
        1,
    );
    let padded = make(
        "padding",
        "text is filled up to blocks of 16 octets, and the filling taken off",
        &|a| {
            a.padding_block = 16;
            a.pad_length_octets = 1;
        },
        1,
    );
    let all = make("mask-all", "every bit of the headers is authenticated", &|a| a.mask = "all".into(), 7);
    let none = make("no-window", "without a window every number is taken, and again", &|a| a.window = 0, 1);
    let last_partial = make(
        "iv-in-part-rollover",
        "the last IV is used in part, and no other carries over after it",
        &|a| {
            a.iv = "fffffffffffffffffffffffe".into();
            a.iv_transmitted = 2;
        },
        1,
    );
    let both_partial = make(
        "iv-in-part-and-sequence",
        "the IV carries over with each frame whose sequence number is taken",
        &|a| {
            a.iv = "00000000000000000000fffe".into();
            a.iv_transmitted = 2;
            a.sequence = "0000".into();
            a.sequence_transmitted = 2;
        },
        1,
    );

    for place in [partial, both, padded, all, both_partial] {
        let sent = protected(&vectors[place], &vec![frame.clone(); 4]);
        let steps = &mut vectors[place].steps;
        steps.extend((0..4).map(|_| apply(&frame)));
        steps.extend([0, 2, 3].map(|number| process(sent[number].clone(), None)));
        // An IV in part seems to come from the next round.
        let in_part = place == partial || place == both_partial;
        steps.push(process(sent[1].clone(), Some(if in_part { "mac" } else { "replay" })));
    }
    for (place, code) in
        [(last_iv, "iv-exhausted"), (last_sequence, "sequence-exhausted"), (last_partial, "iv-exhausted")]
    {
        let sent = protected(&vectors[place], &[frame.clone(), frame.clone()]);
        let refused = Expect { gives: None, refused: Some(code.into()) };
        let steps = &mut vectors[place].steps;
        steps.extend([
            apply(&frame),
            apply(&frame),
            Step::Apply { spi: SPI, frame: frame.clone(), expect: refused },
        ]);
        steps.extend(sent.iter().map(|octets| process(octets.clone(), None)));
        steps.extend(sent.iter().map(|octets| process(octets.clone(), Some("replay"))));
    }
    let sent = protected(&vectors[none], &vec![frame.clone(); 2]);
    vectors[none].steps = [1, 0, 0, 1].map(|number| process(sent[number].clone(), None)).into();
    let sent = protected(&vectors[window], &vec![frame.clone(); 12]);
    let outcomes = [(5, false), (4, true), (10, false), (9, true), (4, false), (8, false), (10, true)];
    vectors[window].steps = outcomes
        .iter()
        .map(|(number, taken)| process(sent[*number].clone(), (!taken).then_some("replay")))
        .collect();
    vectors
}

/// Damage at every place and of every length.
fn damage() -> Vec<Vector> {
    let mut vectors = Vec::new();
    for (kind, kind_name) in KINDS.iter().enumerate() {
        for suite in [1, 7] {
            let probe = association(suite, Channel { version: 0, spacecraft: 0, channel: 0, map: None });
            let (link, channel, frame) = protocol(kind, b"text", overhead(&probe), false);
            let mut association = association(suite, channel);
            association.mask = "all".into();
            let name = format!("{kind_name}-{}-damaged", SUITES[suite].0);
            let about =
                "every bit of security header, text and trailer counts, and so does every octet of length";
            let mut vector = vector(name, about, link.clone(), suite_key(suite, 7), association.clone());
            let sent = octets(&protected(&vector, std::slice::from_ref(&frame))[0]);
            let tail = if kind == 0 { 0 } else { 4 };
            let field = sent.len() - tail - overhead(&association) - 4;
            for place in field..sent.len() - tail {
                let mut changed = sent.clone();
                changed[place] ^= 1 << (place % 8);
                let code = if place < field + 2 { "spi-unknown" } else { "mac" };
                vector.steps.push(process(hex(&changed), Some(code)));
            }
            for length in 0..sent.len() + 4 {
                if length == sent.len() {
                    continue;
                }
                let mut resized = sent.clone();
                resized.resize(length, 0);
                let code = resize_code(kind, &mut resized, field, tail, overhead(&association));
                vector.steps.push(process(hex(&resized), Some(code)));
            }
            vector.steps.push(process(hex(&sent), None));
            vectors.push(vector);
        }
    }
    vectors
}

/// Puts the length field right where there is one, and says why the frame is refused.
fn resize_code(kind: usize, octets: &mut [u8], field: usize, tail: usize, overhead: usize) -> &'static str {
    let length = octets.len();
    let too_short = |octets: usize| if octets < 2 || octets < overhead { "field-too-short" } else { "mac" };
    match kind {
        0 if length < field => {
            if length >= 5 {
                set_length(&mut octets[2..4], length - 1);
            }
            "frame-too-short"
        }
        0 => {
            set_length(&mut octets[2..4], length - 1);
            too_short(length - field)
        }
        3 if length < 7 => "frame-too-short",
        3 => {
            set_length(&mut octets[4..6], length - 1);
            if length < field + tail { "frame-too-short" } else { too_short(length - field - tail) }
        }
        _ if length < 6 => "frame-too-short",
        _ => "frame-not-fixed-length",
    }
}

fn set_length(octets: &mut [u8], length: usize) {
    let [.., high, low] = length.to_be_bytes();
    octets[1] = low;
    // Of TC, the lower two bits are the length's; lengths here are short of that.
    octets[0] = octets[0] & 0xFC | high & 3;
}

/// Associations and keys that do not go together, and frames that are nobody's.
fn refusals() -> Vec<Vector> {
    let (link, channel, frame) = protocol(0, b"data", 0, true);
    let base = |name: &str, about: &str, suite: usize| {
        vector(name.into(), about, link.clone(), suite_key(suite, 7), association(suite, channel))
    };
    let mut vectors = Vec::new();

    let mut wrong_key = base("wrong-key", "a frame made with another key", 1);
    let sent = protected(&wrong_key, std::slice::from_ref(&frame))[0].clone();
    wrong_key.keys[0] = suite_key(1, 8);
    wrong_key.steps = vec![process(sent.clone(), Some("mac")), Step::Report { expect: Expect::default() }];
    vectors.push(wrong_key);

    for (suite, name) in [(3, "wrong-engine-ccm-for-gcm"), (5, "wrong-service-authentication-for-both")] {
        let mut wrong = base(name, "a frame made with another algorithm or service and the same key", 0);
        wrong.keys = vec![suite_key(suite, 7)];
        wrong.associations = vec![association(suite, channel)];
        let sent = protected(&wrong, std::slice::from_ref(&frame))[0].clone();
        let right = if suite == 3 { 0 } else { 1 };
        wrong.associations = vec![association(right, channel)];
        wrong.steps = vec![process(sent, Some("mac"))];
        vectors.push(wrong);
    }

    let mut kinds = base(
        "wrong-kind-of-key",
        "authentication only takes a key for authentication, and encryption one for encryption",
        6,
    );
    kinds.keys = vec![
        key_of(1, "cipher", 16, 1),
        key_of(2, "mac", 16, 2),
        key_of(3, "master", 16, 3),
        key_of(4, "mac", 32, 4),
        key_of(5, "session", 16, 5),
        key_of(6, "cipher", 16, 6),
    ];
    kinds.keys[5].state = "pre-active".into();
    kinds.associations = vec![association(6, channel), association(0, channel), association(0, channel)];
    for (place, association) in kinds.associations.iter_mut().enumerate() {
        association.spi = 4 + u16::try_from(place).expect("a small number");
        association.key = None;
        association.state = "unkeyed".into();
    }
    let rekey = |spi, key, refused| operate("receiver", Operation::Rekey { spi, key, iv: None }, refused);
    kinds.steps = vec![
        rekey(4, 1, Some("key-kind")),
        rekey(4, 3, Some("key-kind")),
        rekey(4, 4, Some("sa-key-length")),
        rekey(4, 9, Some("key-unknown")),
        rekey(9, 2, Some("sa-unknown")),
        rekey(5, 2, Some("key-kind")),
        rekey(5, 6, Some("key-state")),
        rekey(4, 2, None),
        rekey(5, 5, None),
        rekey(6, 5, Some("sa-key-taken")),
        rekey(5, 1, Some("sa-transition")),
        operate("receiver", Operation::Destroy { key: 5 }, Some("key-state")),
        operate("receiver", Operation::Deactivate { key: 5 }, None),
        operate("receiver", Operation::Destroy { key: 5 }, Some("key-in-use")),
        operate("receiver", Operation::Expire { spi: 5 }, None),
        operate("receiver", Operation::Destroy { key: 5 }, None),
        operate("receiver", Operation::Destroy { key: 5 }, Some("key-state")),
    ];
    vectors.push(kinds);

    let mut reuse =
        base("iv-reuse", "no IV comes twice under one key, not even after the association was keyed anew", 1);
    let back = |iv: Option<&str>, refused| {
        operate("sender", Operation::Rekey { spi: SPI, key: KEY, iv: iv.map(Into::into) }, refused)
    };
    reuse.steps = vec![
        apply(&frame),
        apply(&frame),
        operate("sender", Operation::Stop { spi: SPI }, None),
        operate("sender", Operation::Expire { spi: SPI }, None),
        back(Some("000000000000000000000001"), Some("sa-iv-reuse")),
        back(Some("0001"), Some("sa-counter")),
        back(None, None),
        operate("sender", Operation::Start { spi: SPI, channels: vec![channel] }, None),
        apply(&frame),
    ];
    vectors.push(reuse);

    let mut states = base(
        "association-states",
        "an association protects only while it is operational and its key is active",
        1,
    );
    let sent = protected(&states, std::slice::from_ref(&frame))[0].clone();
    let refused = |code: &str| Step::Apply {
        spi: SPI,
        frame: frame.clone(),
        expect: Expect { gives: None, refused: Some(code.into()) },
    };
    let mut elsewhere = octets(&sent);
    elsewhere[2] ^= 0b1000;
    let last = elsewhere.len() - 2;
    let check = sdls::check::fecf(&elsewhere[..last]);
    elsewhere[last..].copy_from_slice(&check.to_be_bytes());
    let mut damaged = octets(&sent);
    damaged[last] ^= 1;
    states.steps = vec![
        Step::Apply {
            spi: 5,
            frame: frame.clone(),
            expect: Expect { gives: None, refused: Some("spi-unknown".into()) },
        },
        process(hex(&damaged), Some("frame-fecf")),
        process(hex(&elsewhere), Some("sa-wrong-channel")),
        operate("sender", Operation::Stop { spi: SPI }, None),
        refused("sa-not-operational"),
        operate("sender", Operation::Stop { spi: SPI }, Some("sa-transition")),
        operate("sender", Operation::Start { spi: SPI, channels: vec![] }, None),
        refused("sa-wrong-channel"),
        operate("sender", Operation::Deactivate { key: KEY }, None),
        operate("receiver", Operation::Stop { spi: SPI }, None),
        process(sent.clone(), Some("sa-not-operational")),
        operate("receiver", Operation::Start { spi: SPI, channels: vec![channel] }, None),
        process(sent.clone(), None),
        operate("receiver", Operation::Deactivate { key: KEY }, None),
        process(sent, Some("key-state")),
        Step::Report { expect: Expect::default() },
    ];
    vectors.push(states);
    vectors
}

/// A pad length that no sender writes. Nothing authenticates it under encryption alone.
fn wrong_padding() -> Vector {
    let (link, channel, frame) = protocol(0, b"data", 0, false);
    let mut association = association(9, channel);
    (association.padding_block, association.pad_length_octets) = (16, 1);
    let mut vector = vector(
        "wrong-padding".into(),
        "a pad length of a whole block, or of more than the text, is refused and uses no number",
        link,
        suite_key(9, 7),
        association,
    );
    let sent = octets(&protected(&vector, std::slice::from_ref(&frame))[0]);
    // Behind the header of 6 octets, the SPI and the IV: 12 of 16 octets of text are padding.
    let (pad_length, text) = (6 + 2 + 12, 6 + 2 + 12 + 1);
    let mut block = sent.clone();
    block[pad_length] = 16;
    let mut short = sent[..text + 11].to_vec();
    let last = short.len() - 1;
    set_length(&mut short[2..4], last);
    vector.steps = vec![
        process(hex(&block), Some("padding")),
        process(hex(&short), Some("padding")),
        Step::Report { expect: Expect::default() },
        process(hex(&sent), None),
    ];
    vector
}

/// Headers that no frame has, frames that a channel does not have, and those that security does not apply to.
fn headers() -> Vec<Vector> {
    KINDS
        .iter()
        .enumerate()
        .map(|(kind, kind_name)| {
            let probe = association(1, Channel { version: 0, spacecraft: 0, channel: 0, map: None });
            let (mut link, channel, frame) = protocol(kind, b"text", overhead(&probe), false);
            if let Link::Uslp { truncated, .. } = &mut link {
                *truncated = Some(4 + 4);
            }
            let mut vector = vector(
                format!("{kind_name}-header"),
                "what a header cannot say, what its fields do not hold, what its channel does not have",
                link,
                suite_key(1, 7),
                association(1, channel),
            );
            let sent = octets(&protected(&vector, std::slice::from_ref(&frame))[0]);
            let changed = |place: usize, bits: u8, code: &str| {
                let mut changed = sent.clone();
                changed[place] ^= bits;
                process(hex(&changed), Some(code))
            };
            let mut steps = vec![changed(0, if kind == 3 { 0x10 } else { 0x80 }, "frame-version")];
            steps.extend(match &frame {
                Frame::Tc(tc) => tc_header(tc, &changed),
                Frame::Tm(tm) => tm_header(tm, &changed),
                Frame::Aos(aos) => aos_header(aos, &changed, &sent),
                Frame::Uslp(uslp) => uslp_header(uslp, &changed),
            });
            steps.push(Step::Report { expect: Expect::default() });
            steps.push(process(hex(&sent), None));
            vector.steps = steps;
            vector
        })
        .collect()
}

/// A telemetry channel whose frames would have an octet more than the protocol's longest; even a short frame is not read.
fn too_long_a_channel() -> Vector {
    let (_, channel, frame) = protocol(1, b"text", 0, false);
    let (suite, refused) = (1, "frame-out-of-range");
    let mut vector = vector(
        "tm-longest".into(),
        "no frame is written or read on a channel whose frames would have more than 2,048 octets",
        Link::Tm { frame: 2049, fecf: false },
        suite_key(suite, 7),
        association(suite, channel),
    );
    let octets = "000000001800".to_owned();
    let code = || Some(refused.into());
    vector.steps = vec![
        encode(frame.clone(), refused),
        Step::Apply { spi: SPI, frame, expect: Expect { gives: None, refused: code() } },
        Step::Decode { octets: octets.clone(), expect: Expect { gives: None, refused: code() } },
        process(octets, Some(refused)),
    ];
    vector
}

type Changed<'a> = &'a dyn Fn(usize, u8, &str) -> Step;

/// A frame that link security does not apply to, given to the sender, and its octets given to the receiver.
fn not_protectable(frame: Frame, octets: &str) -> [Step; 2] {
    let refused = || Some("not-protectable".into());
    let apply = Step::Apply { spi: SPI, frame, expect: Expect { gives: None, refused: refused() } };
    [apply, process(octets.into(), Some("not-protectable"))]
}

fn tc_header(tc: &Tc, changed: Changed) -> Vec<Step> {
    let with = |tc: Tc, code| encode(Frame::Tc(tc), code);
    let control = Tc { service: "bc".into(), sequence: 0, segment: None, data: "00".into(), ..tc.clone() };
    let mut steps = vec![
        changed(0, 0x10, "frame-invalid"),
        changed(0, 0x08, "frame-invalid"),
        changed(0, 0x04, "frame-invalid"),
        changed(3, 1, "frame-length-field"),
        with(Tc { spacecraft: 1024, ..tc.clone() }, "frame-out-of-range"),
        with(Tc { channel: 64, ..tc.clone() }, "frame-out-of-range"),
        with(Tc { segment: None, ..tc.clone() }, "frame-not-as-managed"),
        with(Tc { segment: tc.segment, ..control.clone() }, "frame-not-as-managed"),
        with(Tc { data: "00".repeat(1024 - 6 + 1), ..tc.clone() }, "frame-too-long"),
    ];
    // UNLOCK to virtual channel 1 of spacecraft 44.
    steps.extend(not_protectable(Frame::Tc(control), "302c04050000"));
    steps
}

fn tm_header(tm: &Tm, changed: Changed) -> Vec<Step> {
    let with = |tm: Tm, code| encode(Frame::Tm(tm), code);
    vec![
        // Packet order, segment length, version of the secondary header.
        changed(4, 0x20, "frame-invalid"),
        changed(4, 0x10, "frame-invalid"),
        changed(6, 0x40, "frame-invalid"),
        with(Tm { spacecraft: 1024, ..tm.clone() }, "frame-out-of-range"),
        with(Tm { channel: 8, ..tm.clone() }, "frame-out-of-range"),
        with(Tm { secondary: Some(String::new()), ..tm.clone() }, "frame-invalid"),
    ]
}

fn aos_header(aos: &Aos, changed: Changed, sent: &[u8]) -> Vec<Step> {
    let with = |aos: Aos, code| encode(Frame::Aos(aos), code);
    // A reserved bit behind a header error control that is right.
    let mut reserved = sent.to_vec();
    reserved[5] ^= 0x20;
    let check = sdls::check::fhec([reserved[0], reserved[1]], reserved[5]);
    reserved[6..8].copy_from_slice(&check.to_be_bytes());
    let mut steps: Vec<_> = [0, 1, 5, 6, 7].map(|place| changed(place, 1, "frame-fhec")).into();
    steps.extend([
        process(hex(&reserved), Some("frame-invalid")),
        with(Aos { channel: 64, ..aos.clone() }, "frame-out-of-range"),
        with(Aos { count: 1 << 24, ..aos.clone() }, "frame-out-of-range"),
        with(Aos { cycle: Some(16), ..aos.clone() }, "frame-out-of-range"),
        with(Aos { insert: "11".into(), ..aos.clone() }, "frame-not-as-managed"),
        with(Aos { ocf: None, ..aos.clone() }, "frame-not-as-managed"),
    ]);
    steps
}

fn uslp_header(uslp: &Uslp, changed: Changed) -> Vec<Step> {
    let with = |uslp: Uslp, code| encode(Frame::Uslp(uslp), code);
    let truncated =
        Uslp { truncated: true, count_octets: 0, count: 0, insert: String::new(), ocf: None, ..uslp.clone() };
    let mut steps = vec![
        changed(5, 1, "frame-length-field"),
        changed(6, 0x20, "frame-invalid"),
        changed(6, 0x10, "frame-invalid"),
        with(Uslp { channel: 64, ..uslp.clone() }, "frame-out-of-range"),
        with(Uslp { map: 16, ..uslp.clone() }, "frame-out-of-range"),
        with(Uslp { count: 1 << 16, ..uslp.clone() }, "frame-out-of-range"),
        with(Uslp { count_octets: 8, ..uslp.clone() }, "frame-out-of-range"),
        with(Uslp { insert: "aa".into(), ..uslp.clone() }, "frame-not-as-managed"),
    ];
    steps.extend(not_protectable(Frame::Uslp(truncated), "cc350d0f74657874"));
    steps
}

/// Every vector, with what comes of each step.
pub fn file() -> File {
    let mut vectors = [
        positive(),
        counters(),
        damage(),
        refusals(),
        vec![wrong_padding()],
        headers(),
        vec![too_long_a_channel()],
        super::procedures::vectors(),
    ]
    .concat();
    for vector in &mut vectors {
        let differences = play(vector);
        assert!(differences.is_empty(), "{differences:#?}");
    }
    let about = "Made by `cargo run -p sdls --example vectors -- own`; keys, data and codes of refusals are chosen by hand.";
    File { format: 1, about: about.into(), vectors }
}

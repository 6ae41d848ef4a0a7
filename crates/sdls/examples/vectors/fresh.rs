//! Vectors by chance: protocols, suites, lengths, counters and damage drawn from a seed.

use super::convert::{hex, octets};
use super::format::{Channel, Expect, File, Source, Step, Vector};
use super::runner::play;
use super::suites::{KINDS, SUITES, association, overhead, protocol, suite_key};

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): enough for choices, and the same everywhere.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut word = self.0;
        word = (word ^ word >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ word >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        word ^ word >> 31
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit as u64).expect("below a usize")
    }

    fn octets(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.next().to_le_bytes()[0]).collect()
    }
}

pub fn file(seed: u64, count: usize) -> File {
    let mut chance = Chance(seed);
    let vectors = (0..count).map(|number| vector(&mut chance, number)).collect();
    File { format: 1, about: format!("Drawn from the seed {seed}."), vectors }
}

fn vector(chance: &mut Chance, number: usize) -> Vector {
    let (kind, suite) = (chance.below(KINDS.len()), chance.below(SUITES.len()));
    let nowhere = Channel { version: 0, spacecraft: 0, channel: 0, map: None };
    let mut made = association(suite, nowhere);
    if made.iv_transmitted > 0 {
        made.iv = hex(&chance.octets(made.iv.len() / 2));
        made.iv_transmitted = 1 + chance.below(made.iv.len() / 2);
    }
    if made.iv.is_empty() || chance.below(2) == 0 {
        let whole = 1 + chance.below(8);
        made.sequence = hex(&chance.octets(whole));
        made.sequence_transmitted = 1 + chance.below(whole);
    }
    if chance.below(2) == 0 {
        made.padding_block = [1, 8, 16, 33][chance.below(4)];
        made.pad_length_octets = 1 + chance.below(2);
    }
    made.mask = match chance.below(3) {
        0 => "standard".into(),
        1 => "all".into(),
        _ => {
            let length = chance.below(40);
            hex(&chance.octets(length))
        }
    };
    made.window = 1 + chance.next() % 100;
    let length = chance.below(200);
    let data = chance.octets(length);
    let block = usize::from(made.padding_block);
    let padding = length.next_multiple_of(block) - length;
    let fecf = chance.below(2) == 0;
    let (link, channel, frame) = protocol(kind, &data, overhead(&made) + padding, fecf);
    made.channels = vec![channel];
    let key = suite_key(suite, chance.next().to_le_bytes()[0]);
    let mut vector = Vector {
        name: format!("fresh-{number}-{}-{}", KINDS[kind], SUITES[suite].0),
        about: "by chance".into(),
        source: Source::Own("own".into()),
        link,
        keys: vec![key],
        associations: vec![made],
        steps: vec![Step::Apply { spi: 4, frame, expect: Expect::default() }],
    };
    settle(&mut vector);
    let Step::Apply { expect: Expect { gives: Some(sent), .. }, .. } = &vector.steps[0] else {
        return vector;
    };
    let sent = octets(sent);
    let mut changed = sent.clone();
    let place = chance.below(sent.len());
    changed[place] ^= 1 << chance.below(8);
    for octets in [changed, sent.clone(), sent] {
        vector.steps.push(Step::Process { octets: hex(&octets), expect: Expect::default() });
    }
    settle(&mut vector);
    vector
}

/// Fills in what comes of the steps, refusals too.
fn settle(vector: &mut Vector) {
    for place in 0..vector.steps.len() {
        let mut probe = vector.clone();
        probe.steps.truncate(place + 1);
        for difference in play(&mut probe) {
            let code = difference.split("refused as ").nth(1).and_then(|text| text.split(',').next());
            let code = code.unwrap_or_else(|| panic!("{difference}")).to_string();
            match &mut probe.steps[place] {
                Step::Apply { expect, .. } => expect.refused = Some(code),
                Step::Process { expect, .. } => expect.refused = Some(code),
                _ => unreachable!("only frames are applied and processed"),
            }
        }
        vector.steps[place] = probe.steps[place].clone();
    }
}

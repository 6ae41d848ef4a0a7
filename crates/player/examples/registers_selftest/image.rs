//! The extended state of the processor as `XSAVE` lays it out in memory (Intel SDM volume 1, chapter 13): patterns
//! to load, and what is compared.

use std::arch::asm;
use std::arch::x86_64::{__cpuid, __cpuid_count};
use std::ops::Range;
use std::sync::LazyLock;

/// Room for every component of any processor so far (AMX: 11,008 bytes).
const ROOM: usize = 16_384;

/// Where `XSAVE` puts its header, and the first component behind it.
const HEADER: usize = 512;

/// Components that programs may load with any bits: x87, SSE, AVX, opmask, both halves of AVX-512, APX.
const DATA_COMPONENTS: u64 = 0b1110_0111 | 1 << 19;

/// The tile data of AMX, which a program must ask for and which nobody gets in a guest.
const TILE_DATA: u64 = 1 << 18;

/// What this processor has.
pub struct Layout {
    /// The components that the operating system has switched on (`XCR0`).
    pub enabled: u64,
    /// Those of them that are filled and compared.
    pub mask: u64,
    /// Where the enabled components but the tile data end, which is what a signal frame holds.
    pub frame_size: usize,
    /// The parts of an image that are compared, with their names.
    parts: Vec<(String, Range<usize>)>,
}

/// The layout on this processor.
pub static LAYOUT: LazyLock<Layout> = LazyLock::new(|| {
    assert!(__cpuid(1).ecx >> 27 & 1 == 1, "this processor, or its host, has no XSAVE");
    let (low, high): (u32, u32);
    // SAFETY: `xgetbv` of register 0 only reads; the line above says that it exists.
    unsafe { asm!("xgetbv", in("ecx") 0, out("eax") low, out("edx") high, options(nomem, nostack)) };
    let enabled = u64::from(high) << 32 | u64::from(low);

    // Not compared: the x87's last instruction and operand, which some processors keep only with an exception.
    let mut parts = vec![
        ("x87 control word".to_owned(), 0..2),
        ("x87 status word".to_owned(), 2..4),
        ("x87 tags".to_owned(), 4..5),
        ("MXCSR".to_owned(), 24..28),
    ];
    parts.extend((0..8).map(|i| (format!("st{i}/mm{i}"), 32 + 16 * i..42 + 16 * i)));
    parts.extend((0..16).map(|i| (format!("xmm{i}"), 160 + 16 * i..176 + 16 * i)));
    let mut frame_size = HEADER + 64;
    for number in (2..63).filter(|number| (enabled & !TILE_DATA) >> number & 1 == 1) {
        let component = __cpuid_count(0xd, number);
        let place = component.ebx as usize..(component.ebx + component.eax) as usize;
        frame_size = frame_size.max(place.end);
        if DATA_COMPONENTS >> number & 1 == 1 {
            parts.push((format!("component {number} (2: AVX; 5 to 7: AVX-512)"), place));
        }
    }
    assert!(
        frame_size <= ROOM,
        "this processor's state of {frame_size} bytes is larger than this test's room"
    );
    Layout { enabled, mask: enabled & DATA_COMPONENTS, frame_size, parts }
});

impl Layout {
    /// The components that a signal frame holds.
    pub fn frame_components(&self) -> u64 {
        self.enabled & !TILE_DATA
    }
}

/// One extended state.
#[repr(C, align(64))]
#[derive(Clone)]
pub struct Image(pub [u8; ROOM]);

impl Image {
    /// All zero: to be written by `XSAVE`.
    pub fn empty() -> Box<Self> {
        Box::new(Self([0; ROOM]))
    }

    /// Every register filled with what follows from `seed`, control words included.
    pub fn pattern(seed: u64) -> Box<Self> {
        let mut image = Self::empty();
        let mut word = seed;
        for (_, part) in &LAYOUT.parts {
            for byte in &mut image.0[part.clone()] {
                word = word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                *byte = (word >> 56) as u8;
            }
        }
        let chosen = (word >> 40) as u16;
        // All exceptions masked; rounding, flush-to-zero and sticky flags by the pattern. All eight x87 registers hold
        // something, and the top of their stack is any of them.
        image.put(0, &(0x037f | (chosen & 3) << 10).to_le_bytes());
        image.put(2, &((chosen & 7) << 11).to_le_bytes());
        image.put(4, &[0xff]);
        let mxcsr = 0x1f80 | u32::from(chosen >> 3 & 3) << 13 | u32::from(chosen >> 5 & 1) << 15;
        image.put(24, &(mxcsr | u32::from(chosen & 0x3f)).to_le_bytes());
        image.put(HEADER, &LAYOUT.mask.to_le_bytes());
        image
    }

    fn put(&mut self, at: usize, bytes: &[u8]) {
        self.0[at..at + bytes.len()].copy_from_slice(bytes);
    }

    /// The first register in which two states differ.
    pub fn difference(&self, other: &Self) -> Option<String> {
        let (name, part) =
            LAYOUT.parts.iter().find(|(_, part)| self.0[part.clone()] != other.0[part.clone()])?;
        Some(format!(
            "{name} is {:02x?}, not {:02x?}",
            head(&other.0[part.clone()]),
            head(&self.0[part.clone()])
        ))
    }

    /// The legacy part of `other` (x87, MXCSR, SSE), the rest of this state.
    pub fn with_legacy_of(&self, other: &Self) -> Box<Self> {
        let mut image = Box::new(self.clone());
        image.0[..HEADER].copy_from_slice(&other.0[..HEADER]);
        image
    }
}

fn head(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.len().min(16)]
}

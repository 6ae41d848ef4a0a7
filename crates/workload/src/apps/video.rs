//! `video`: one direction of a video call over RTP. Its KPIs are the frames that are there in time and ITU-T G.1070's
//! estimate of the quality.
//!
//! Frames fall due at a fixed rate: the first of each group of pictures (GOP) is an I frame, which can be decoded by itself,
//! the others are P frames, each of which needs the one before. Their sizes are drawn as in 3GPP's model of video for XR,
//! which has I and P frames in a ratio and about each mean a normal distribution that is cut off on both sides:
//!
//! ```text
//! I P P P ... P | I P P P ... P |      mean of I = ratio x mean of P; mean of all = rate / frame rate
//! ```
//!
//! A frame goes in as many packets as it needs, all but the last as long as packets may be, the last with the marker
//! (RFC 3551, section 4.1). The clock of the timestamps has 90 kHz.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::Deserialize;
use serde_json::{Map, Value};
use transports::{SpecError, nanoseconds, parse_params};

use super::checks::{LONGEST_DATAGRAM, RATES_BPS, SHORTEST_S};
use super::rtp::{Frame, HEADER_BYTES, MOST_PACKETS, Media, OverRtp, Packet, Source};
use crate::application::Application;

/// Standard deviation over mean of the size of frames of one kind (3GPP TR 38.838 V17.0.0, table 5.1.1.1-1).
const DEVIATION: f64 = 0.105;
/// Smallest and largest size over the mean (same table).
const SMALLEST: f64 = 0.5;
const LARGEST: f64 = 1.5;
/// Mean size of I frames over that of P frames: one of the values that 3GPP TR 38.838, section 5.1.2, has for it.
const I_TO_P: f64 = 2.0;
/// A key frame each second at 25 frames a second.
const GOP_FRAMES: u32 = 25;

/// The clock of RTP's video payloads (RFC 3551, section 5).
const CLOCK_HZ: f64 = 90_000.0;
/// The first payload type whose meaning is not fixed (RFC 3551, section 6).
const PAYLOAD_TYPE: u8 = 96;

/// Frames a second that a plan may ask for.
const FRAME_RATES_HZ: std::ops::RangeInclusive<f64> = 0.1..=1000.0;
/// Ratios of I to P that a plan may ask for.
const RATIOS: std::ops::RangeInclusive<f64> = 1.0..=100.0;
/// The shortest packets: most of what they carry is not the header.
const SHORTEST_PACKET: u32 = 64;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Params {
    /// Of the frames, without headers.
    rate_bps: f64,
    duration_s: f64,
    frame_rate_hz: f64,
    #[serde(default = "gop_frames")]
    gop_frames: u32,
    #[serde(default = "i_to_p")]
    i_to_p: f64,
    /// The longest packet with its header.
    packet_bytes: u32,
    /// What comes later than this after its capture is late. Nobody here waits: it is for whoever reads the record.
    playout_s: f64,
}

fn gop_frames() -> u32 {
    GOP_FRAMES
}

fn i_to_p() -> f64 {
    I_TO_P
}

struct Video {
    duration_ns: i64,
    frame_rate_hz: f64,
    gop_frames: u32,
    packet_bytes: u32,
    mean_i_bytes: f64,
    mean_p_bytes: f64,
}

pub(super) fn build(params: &Map<String, Value>) -> Result<Box<dyn Application>, SpecError> {
    let params: Params = parse_params("app_params", "video", params)?;
    let wrong = |what: String| Err(SpecError::new(format!("`app_params` of `video`: {what}")));
    let Params { rate_bps, duration_s, frame_rate_hz, gop_frames, i_to_p, packet_bytes, playout_s } = params;
    let duration_ns = nanoseconds("duration_s", duration_s, SHORTEST_S)?;
    nanoseconds("playout_s", playout_s, 0.0)?;
    if !RATES_BPS.contains(&rate_bps) {
        return wrong(format!("`rate_bps` is {rate_bps}; it must be from 0.001 to 1e12"));
    }
    if !FRAME_RATES_HZ.contains(&frame_rate_hz) {
        return wrong(format!("`frame_rate_hz` is {frame_rate_hz}; it must be from 0.1 to 1000"));
    }
    if gop_frames == 0 {
        return wrong("`gop_frames` is 0; a group of pictures has at least its I frame".to_owned());
    }
    if !RATIOS.contains(&i_to_p) {
        return wrong(format!("`i_to_p` is {i_to_p}; it must be from 1 to 100"));
    }
    if !(SHORTEST_PACKET..=LONGEST_DATAGRAM).contains(&packet_bytes) {
        return wrong(format!(
            "`packet_bytes` is {packet_bytes}; it must be from {SHORTEST_PACKET} to {LONGEST_DATAGRAM}"
        ));
    }
    let (gop, mean_bytes) = (f64::from(gop_frames), rate_bps / 8.0 / frame_rate_hz);
    let mean_p_bytes = mean_bytes * gop / (gop - 1.0 + i_to_p);
    let video = Video {
        duration_ns,
        frame_rate_hz,
        gop_frames,
        packet_bytes,
        mean_i_bytes: mean_p_bytes * i_to_p,
        mean_p_bytes,
    };
    // As if every frame were as large as an I frame can be.
    let packets = video.frames() as f64 * (LARGEST * video.mean_i_bytes / video.longest_payload()).ceil();
    if packets > MOST_PACKETS as f64 {
        return wrong(format!("`duration_s` makes up to {packets:.0} packets; there may be {MOST_PACKETS}"));
    }
    Ok(Box::new(OverRtp { source: video }))
}

impl Video {
    /// Those that fall due before the end.
    fn frames(&self) -> u64 {
        // What the product leaves above a whole number is rounding.
        (self.duration_ns as f64 / 1e9 * self.frame_rate_hz - 1e-6).ceil().max(1.0) as u64
    }

    fn longest_payload(&self) -> f64 {
        f64::from(self.packet_bytes - HEADER_BYTES)
    }
}

impl Source for Video {
    fn duration_ns(&self) -> i64 {
        self.duration_ns
    }

    fn longest_packet_bytes(&self) -> u32 {
        self.packet_bytes
    }

    fn media(&self, seed: u64) -> Media {
        let mut sizes = Sizes::new(seed);
        let longest = self.packet_bytes - HEADER_BYTES;
        let (mut packets, mut frames) = (Vec::new(), Vec::new());
        for number in 0..self.frames() {
            let is_i = number.is_multiple_of(u64::from(self.gop_frames));
            let size = sizes.draw(if is_i { self.mean_i_bytes } else { self.mean_p_bytes });
            let captured_s = number as f64 / self.frame_rate_hz;
            let ready_ns = (captured_s * 1e9).round() as i64;
            // The 32 bits of a timestamp begin anew after 13 hours.
            let timestamp = (captured_s * CLOCK_HZ).round() as u64 as u32;
            let first = packets.len() as u32;
            for at in (0..size).step_by(longest as usize) {
                let payload_bytes = longest.min(size - at);
                packets.push(Packet {
                    ready_ns,
                    payload_bytes,
                    timestamp,
                    marker: at + payload_bytes == size,
                });
            }
            frames.push(Frame {
                object: if is_i { "I" } else { "P" },
                ready_ns,
                size_bytes: u64::from(size),
                packets: first..packets.len() as u32,
            });
        }
        Media { payload_type: PAYLOAD_TYPE, packets, frames }
    }
}

/// Draws sizes of frames.
struct Sizes {
    generator: Xoshiro256PlusPlus,
}

impl Sizes {
    fn new(seed: u64) -> Self {
        let mut generator = Xoshiro256PlusPlus::seed_from_u64(seed);
        // The same seed makes the packets' bytes: sizes are drawn from another part of the sequence.
        generator.jump();
        Self { generator }
    }

    /// A number in (0, 1], with the 53 random bits of f64's precision.
    fn uniform(&mut self) -> f64 {
        ((self.generator.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    /// A size in bytes of frames with this mean.
    fn draw(&mut self, mean_bytes: f64) -> u32 {
        loop {
            // Box and Muller's transform.
            let radius = (-2.0 * self.uniform().ln()).sqrt();
            let normal = radius * (std::f64::consts::TAU * self.uniform()).cos();
            let share = 1.0 + DEVIATION * normal;
            if (SMALLEST..=LARGEST).contains(&share) {
                return (mean_bytes * share).round().clamp(1.0, f64::from(u32::MAX)) as u32;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1 Mbit/s, 25 frames a second, a GOP a second.
    fn video(duration_s: i64) -> Video {
        let mean_p_bytes = 5000.0 * 25.0 / 26.0;
        Video {
            duration_ns: duration_s * 1_000_000_000,
            frame_rate_hz: 25.0,
            gop_frames: 25,
            packet_bytes: 1_100,
            mean_i_bytes: 2.0 * mean_p_bytes,
            mean_p_bytes,
        }
    }

    #[test]
    fn frames_fall_due_at_their_rate_and_groups_begin_with_an_i_frame() {
        let media = video(2).media(1);
        assert_eq!(media.frames.len(), 50);
        let i_frames: Vec<_> = (0..50).filter(|n| media.frames[*n].object == "I").collect();
        assert_eq!(i_frames, [0, 25]);
        assert_eq!((media.frames[1].ready_ns, media.frames[49].ready_ns), (40_000_000, 1_960_000_000));
    }

    #[test]
    fn a_frame_goes_in_full_packets_and_a_rest_with_the_marker() {
        let media = video(4).media(9);
        let mut next = 0;
        for (number, frame) in (0..).zip(&media.frames) {
            assert_eq!(frame.packets.start, next);
            next = frame.packets.end;
            let packets = &media.packets[frame.packets.start as usize..frame.packets.end as usize];
            let (last, full) = packets.split_last().expect("a frame has a packet");
            assert!(full.iter().all(|packet| packet.payload_bytes == 1_088 && !packet.marker));
            assert!(last.marker && (1..=1_088).contains(&last.payload_bytes));
            assert_eq!(
                packets.iter().map(|packet| u64::from(packet.payload_bytes)).sum::<u64>(),
                frame.size_bytes
            );
            // 90,000 / 25 ticks a frame.
            assert!(packets.iter().all(|packet| packet.timestamp == number * 3_600));
        }
        assert_eq!(next as usize, media.packets.len());
    }

    #[test]
    fn sizes_have_the_means_and_the_deviation_of_the_model() {
        let video = video(4_000);
        let media = video.media(3);
        let all: f64 = media.frames.iter().map(|frame| frame.size_bytes as f64).sum();
        assert!((all * 8.0 / 4_000.0 / 1e6 - 1.0).abs() < 0.005, "{} bit/s", all * 8.0 / 4_000.0);
        for (object, mean) in [("I", video.mean_i_bytes), ("P", video.mean_p_bytes)] {
            let shares: Vec<f64> = media
                .frames
                .iter()
                .filter(|frame| frame.object == object)
                .map(|frame| frame.size_bytes as f64 / mean)
                .collect();
            let count = shares.len() as f64;
            let average = shares.iter().sum::<f64>() / count;
            let deviation =
                (shares.iter().map(|share| (share - average).powi(2)).sum::<f64>() / count).sqrt();
            // 4,000 I frames: the standard errors are 0.0017 and 0.0012, of which these are six and more.
            assert!((average - 1.0).abs() < 0.01, "{object}: {average}");
            assert!((deviation - DEVIATION).abs() < 0.008, "{object}: {deviation}");
            let close = |share: &&f64| (**share - 1.0).abs() <= DEVIATION;
            let within = shares.iter().filter(close).count() as f64 / count;
            // Of a normal distribution 68.27 % lie within a standard deviation.
            assert!((within - 0.6827).abs() < 0.045, "{object}: {within}");
            assert!(shares.iter().all(|share| (0.499..=1.501).contains(share)));
        }
    }

    #[test]
    fn the_seed_alone_makes_the_sizes() {
        assert_eq!(video(3).media(5), video(3).media(5));
        assert_ne!(video(3).media(5).packets, video(3).media(6).packets);
        let (short, long) = (video(2).media(5), video(3).media(5));
        assert_eq!(short.frames, long.frames[..50]);
    }
}

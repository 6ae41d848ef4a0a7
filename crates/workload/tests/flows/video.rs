//! Calls over RTP, whole: every packet and every frame arrives, whatever carries them.

use serde_json::{Value, json};
use transports::Context;
use workload::FlowReport;

use crate::common::{context, flow, ok, run};

/// A second of 0.8 Mbit/s at 25 frames a second.
fn video() -> Value {
    json!({
        "rate_bps": 800_000, "duration_s": 1.0, "frame_rate_hz": 25, "gop_frames": 10, "packet_bytes": 1100,
        "playout_s": 0.16
    })
}

fn assert_every_frame_is_whole(report: &FlowReport, in_front: u64) {
    ok(report);
    let result = &report.result;
    assert_eq!((result.sent_messages, result.sent_bytes), (result.received_messages, result.received_bytes));
    assert_eq!(
        report.messages().map(|message| u64::from(message.size_bytes)).sum::<u64>(),
        result.sent_bytes
    );
    let kinds: Vec<_> = report.exchanges.iter().map(|frame| frame.object.as_str()).collect();
    let group = ["I", "P", "P", "P", "P", "P", "P", "P", "P", "P"];
    assert_eq!(kinds, [group, group].concat().iter().chain(&group[..5]).copied().collect::<Vec<_>>());
    let frames_bytes: u64 = report.exchanges.iter().map(|frame| frame.size_bytes).sum();
    assert_eq!(frames_bytes + (12 + in_front) * result.sent_messages, result.sent_bytes);
    for (number, frame) in (0..).zip(&report.exchanges) {
        assert_eq!(frame.requested_ns, number * 40_000_000);
        assert!(frame.completed_ns > Some(frame.requested_ns), "{frame:?}");
        assert!(frame.first_byte_ns <= frame.completed_ns, "{frame:?}");
    }
}

#[test]
fn video_over_udp_goes_in_datagrams_of_rtp() {
    assert_every_frame_is_whole(&run(&flow("udp", json!({}), "video", video()), context()), 0);
}

#[test]
fn video_in_a_byte_stream_has_lengths_between() {
    let spec = flow("tcp", json!({"congestion_control": "cubic"}), "video", video());
    assert_every_frame_is_whole(&run(&spec, context()), 2);
}

#[test]
fn video_goes_over_datagrams_of_quic_dtls_and_restp() {
    for (stack, params) in [
        ("quic-quinn", json!({"congestion_control": "cubic", "datagrams": true})),
        ("dtls", json!({})),
        ("restp", json!({"profile": "voice"})),
    ] {
        assert_every_frame_is_whole(&run(&flow(stack, params, "video", video()), context()), 0);
    }
}

#[test]
fn video_of_which_only_totals_are_kept_tells_of_no_frames() {
    let report = run(&flow("udp", json!({}), "video", video()), Context { messages: false, ..context() });
    ok(&report);
    assert_eq!((report.messages().count(), report.exchanges.len()), (0, 0));
    assert_eq!(report.result.sent_bytes, report.result.received_bytes);
}

#[test]
fn a_call_has_the_packets_of_its_codec_as_on_a_video_call() {
    for (codec, bytes) in [("g711", 172), ("opus", 72)] {
        let report =
            run(&flow("udp", json!({}), "voip", json!({"duration_s": 0.5, "codec": codec})), context());
        ok(&report);
        assert_eq!((report.result.sent_messages, report.result.received_bytes), (25, 25 * bytes), "{codec}");
        assert!(report.messages().all(|message| u64::from(message.size_bytes) == bytes));
    }
}

//! What is wrong in a flow's description is said in one sentence that names it.

use serde_json::{Value, json};
use workload::FlowSpec;

fn flow() -> Value {
    json!({
        "id": "f0", "stack": "tcp", "stack_params": {"congestion_control": "bbr"},
        "app": "cbr", "app_params": {"rate_bps": 5_200_000, "message_size_bytes": 1448, "duration_s": 120.0},
        "from": "tc1", "to": "tsb1", "start_s": 1.0
    })
}

/// Parameters of `vbr` of which one is another.
fn vbr(key: &str, value: f64) -> Value {
    let mut params = json!({
        "peak_rate_bps": 80_000, "message_size_bytes": 200, "mean_on_s": 1.2, "mean_off_s": 1.8, "duration_s": 120
    });
    params[key] = json!(value);
    params
}

/// Parameters of `video` of which one is another.
fn video(key: &str, value: Value) -> Value {
    let mut params = json!({
        "rate_bps": 1e6, "duration_s": 60, "frame_rate_hz": 25, "packet_bytes": 1100, "playout_s": 0.16
    });
    params[key] = value;
    params
}

/// The sentence about a flow of this application of which the value at `pointer` is another one.
fn sentence(app: &str, pointer: &str, value: Value) -> String {
    let mut changed = flow();
    changed["app"] = json!(app);
    let (parent, key) = pointer.rsplit_once('/').expect("a pointer has a slash");
    changed.pointer_mut(parent).expect("the parent is there")[key] = value;
    match serde_json::from_value::<FlowSpec>(changed) {
        Err(error) => error.to_string(),
        Ok(spec) => spec.check().err().expect("the flow is wrong").to_string(),
    }
}

#[test]
fn the_flow_of_the_plan_format_is_right() {
    let spec: FlowSpec = serde_json::from_value(flow()).expect("every key is known");
    assert!(spec.check().is_ok());
}

#[test]
fn what_is_wrong_with_a_call_over_rtp_is_named() {
    let cases = [
        ("rate_bps", json!(-1), "`rate_bps` is -1"),
        ("frame_rate_hz", json!(0), "`frame_rate_hz` is 0; it must be from 0.1"),
        ("gop_frames", json!(0), "`gop_frames` is 0"),
        ("i_to_p", json!(0.5), "`i_to_p` is 0.5; it must be from 1"),
        ("packet_bytes", json!(20), "`packet_bytes` is 20; it must be from 64"),
        ("playout_s", json!(-1), "`playout_s` is -1"),
        ("duration_s", json!(1e7), "packets; there may be 10000000"),
    ];
    for (key, value, word) in cases {
        let found = sentence("video", "/app_params", video(key, value));
        assert!(found.contains(word) && found.contains("flow f0"), "{found}");
    }
    let odd = json!({"duration_s": 1, "codec": "g711", "interval_s": 0.03});
    assert!(sentence("voip", "/app_params", odd).contains("leave `message_size_bytes` and `interval_s` out"));
    let long = json!({"duration_s": 1e6, "codec": "opus"});
    assert!(sentence("voip", "/app_params", long).contains("50000000 packets"));
}

#[test]
fn sctp_that_gives_messages_up_has_one_stream() {
    let spec = json!({
        "id": "f0", "stack": "sctp", "stack_params": {"streams": 2, "lifetime_s": 0.1}, "app": "cbr",
        "app_params": {"rate_bps": 1e6, "message_size_bytes": 100, "duration_s": 1}, "from": "a", "to": "b", "start_s": 0
    });
    let spec: FlowSpec = serde_json::from_value(spec).expect("every key is known");
    let found = spec.check().err().expect("it has two").to_string();
    assert!(found.contains("`lifetime_s`") && found.contains("`streams` must be 1"), "{found}");
}

#[test]
fn mptcp_has_as_many_paths_as_the_kernel_allows() {
    let checked = |params: Value| {
        let mut mptcp = flow();
        mptcp["stack"] = json!("mptcp");
        mptcp["stack_params"] = params;
        serde_json::from_value::<FlowSpec>(mptcp).expect("every key is known").check()
    };
    for (key, number, right) in [
        ("active_paths", 0, "`active_paths` is 0; it must be from 1 to 9"),
        ("active_paths", 10, "`active_paths` is 10; it must be from 1 to 9"),
        ("further_subflows", 9, "`further_subflows` is 9; it must be from 0 to 8"),
    ] {
        let found = checked(json!({"congestion_control": "cubic", key: number}));
        let found = found.err().expect("no kernel does that").to_string();
        assert!(found.contains(right), "{found}");
    }
    for (params, further) in [
        (json!({"congestion_control": "cubic"}), 8),
        (json!({"congestion_control": "cubic", "active_paths": 9}), 8),
        (json!({"congestion_control": "cubic", "active_paths": 1, "further_subflows": 1}), 1),
        (json!({"congestion_control": "cubic", "further_subflows": 0}), 0),
    ] {
        let found = checked(params).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(found.further_addresses(), further);
    }
}

#[test]
fn every_mistake_is_named() {
    let cases = [
        ("/stak", json!("tcp"), vec!["unknown field `stak`", "stack"]),
        ("/stack", json!("tpc"), vec!["flow f0", "unknown stack `tpc`", "tcp, sctp, udp, mptcp"]),
        ("/app", json!("http"), vec!["flow f0", "unknown application `http`", "bulk, cbr"]),
        ("/start_s", json!(-1.0), vec!["flow f0", "`start_s`", "-1"]),
        ("/stack_params", json!({}), vec!["flow f0", "`stack_params` of `tcp`", "congestion_control"]),
        ("/stack_params/streams", json!(4), vec!["`stack_params` of `tcp`", "unknown field `streams`"]),
        ("/stack_params/send_buffer_bytes", json!(0), vec!["`send_buffer_bytes`", "from 1"]),
        ("/app_params/rate", json!(5), vec!["`app_params` of `cbr`", "unknown field `rate`", "rate_bps"]),
        ("/app_params/rate_bps", json!(-5), vec!["`rate_bps` is -5"]),
        ("/app_params/duration_s", json!(0), vec!["`duration_s` is 0"]),
        ("/app_params/message_size_bytes", json!(7), vec!["`message_size_bytes` is 7", "from 8"]),
        ("/app_params/message_size_bytes", json!(0), vec!["`message_size_bytes` is 0", "from 8"]),
        ("/app_params/duration_s", json!(1e7), vec!["`duration_s`", "messages; there must be"]),
        ("/app_params/message_size_bytes", json!(-1), vec!["`app_params` of `cbr`", "-1"]),
        ("/app", json!("vbr"), vec!["`app_params` of `vbr`", "unknown field `rate_bps`", "peak_rate_bps"]),
        ("/app_params", vbr("mean_on_s", 0.0), vec!["`mean_on_s` is 0", "from 0.001"]),
        ("/app_params", vbr("mean_off_s", -1.8), vec!["`mean_off_s` is -1.8"]),
        ("/app_params", vbr("peak_rate_bps", 0.0), vec!["`vbr`", "`peak_rate_bps` is 0"]),
        ("/app_params", vbr("duration_s", 1e7), vec!["`vbr`", "`duration_s`", "periods"]),
    ];
    for (pointer, value, parts) in cases {
        let app = if value.get("mean_on_s").is_some() { "vbr" } else { "cbr" };
        let sentence = sentence(app, pointer, value.clone());
        for part in parts {
            assert!(sentence.contains(part), "{pointer} = {value}: \"{sentence}\" lacks \"{part}\"");
        }
    }
}

#[test]
fn what_needs_reliable_delivery_is_refused_over_udp() {
    for (app, params) in [
        ("bulk", json!({"size_bytes": 1000})),
        ("cbr", json!({"rate_bps": null, "message_size_bytes": 1000, "duration_s": 1})),
        (
            "vbr",
            json!({"peak_rate_bps": null, "message_size_bytes": 1000, "mean_on_s": 1, "mean_off_s": 1, "duration_s": 1}),
        ),
    ] {
        let mut changed = flow();
        changed["stack"] = json!("udp");
        changed["stack_params"] = json!({});
        changed["app"] = json!(app);
        changed["app_params"] = params;
        let spec: FlowSpec = serde_json::from_value(changed).expect("every key is known");
        let sentence = spec.check().err().expect("the flow is wrong").to_string();
        assert!(sentence.contains("`udp`") && sentence.contains("rate_bps"), "{sentence}");
    }
}

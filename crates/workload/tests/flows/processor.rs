//! Flows whose listening end works on a processor, over the loopback interface: what it is charged, and that it is waited
//! for.

use std::sync::Arc;

use serde_json::{Value, json};
use transports::{Context, Costs, Processor, Workplace};

use crate::common::{context, flow, ok, run};

const MS: u64 = 1_000_000;
const COSTS: Costs = Costs { handshake_ns: 20 * MS, request_ns: 5 * MS, packet_ns: 1_000 };

/// Surroundings with a processor for the end that listens.
fn on_a_processor(costs: Costs) -> (Arc<Processor>, Context) {
    let ctx = context();
    let processor = Arc::new(Processor::new(ctx.clock, ctx.limit_ns, costs));
    let ctx = Context { processor: Some(Arc::new(Workplace::new(&processor))), ..ctx };
    (processor, ctx)
}

fn reno() -> Value {
    json!({"congestion_control": "reno"})
}

#[test]
fn every_session_and_every_request_is_charged_once_and_waited_for() {
    let periodic = json!({
        "message_size_bytes": 100, "interval_s": 0.01, "duration_s": 0.025, "connection": "fresh"
    });
    for (stack, params) in
        [("tcp", reno()), ("tls", reno()), ("quic-quinn", json!({})), ("quic-s2n", json!({}))]
    {
        let (processor, ctx) = on_a_processor(COSTS);
        let report = run(&flow(stack, params, "periodic", periodic.clone()), ctx);
        ok(&report);
        let usage = processor.usage();
        assert_eq!((usage.handshakes, usage.requests), (3, 3), "{stack}");
        assert!(usage.packets >= 6, "{stack}: {} packets", usage.packets);
        assert_eq!(usage.busy_ns as u64, 3 * 25 * MS + 1_000 * usage.packets, "{stack}");
        for exchange in &report.exchanges {
            let completed_ns = exchange.completed_ns.expect("it arrived");
            assert!(completed_ns - exchange.requested_ns >= 25 * MS as i64, "{stack}: {exchange:?}");
            // TCP's own handshake is the kernel's, which computes for nothing.
            if let Some(secured_ns) = exchange.secured_ns {
                assert!(secured_ns - exchange.requested_ns >= 20 * MS as i64, "{exchange:?}");
            }
        }
    }
}

#[test]
fn the_server_of_a_page_is_charged_whichever_way_its_bytes_go() {
    const FILES: u64 = 5;
    let objects: Vec<_> =
        (0..FILES).map(|file| json!({"object": format!("file {file}"), "size_bytes": 3_000})).collect();
    for (stack, params, http, sessions) in [
        ("tcp", reno(), "1.1-fresh", FILES),
        ("tls", reno(), "2", 1),
        ("quic-quinn", json!({}), "3", 1),
        ("quic-quinn", json!({}), "3-fresh", FILES),
    ] {
        let page = json!({"http": http, "objects": objects, "size_bytes": 3_000 * FILES});
        let (processor, ctx) = on_a_processor(COSTS);
        let report = run(&flow(stack, params, "page", page), ctx);
        ok(&report);
        let usage = processor.usage();
        assert_eq!((usage.handshakes, usage.requests), (sessions, FILES), "{stack} {http}");
        let last_ns = report.exchanges.iter().filter_map(|exchange| exchange.completed_ns).max();
        let taken_ns = last_ns.expect("it arrived") - report.exchanges[0].requested_ns;
        assert!(taken_ns as u64 >= sessions * 20 * MS + FILES * 5 * MS, "{stack} {http}: {taken_ns}");
    }
}

#[test]
fn flows_of_a_node_share_its_processor() {
    let periodic =
        json!({"message_size_bytes": 100, "interval_s": 1.0, "duration_s": 0.5, "connection": "fresh"});
    let (processor, _) = on_a_processor(COSTS);
    std::thread::scope(|scope| {
        for (stack, params) in [("tls", reno()), ("quic-quinn", json!({})), ("quic-s2n", json!({}))] {
            let workplace = Some(Arc::new(Workplace::new(&processor)));
            let ctx = Context { processor: workplace, ..context() };
            let spec = flow(stack, params, "periodic", periodic.clone());
            scope.spawn(move || ok(&run(&spec, ctx)));
        }
    });
    let usage = processor.usage();
    assert_eq!((usage.handshakes, usage.requests), (3, 3));
    assert_eq!(usage.busy_ns as u64, 75 * MS + 1_000 * usage.packets);
}

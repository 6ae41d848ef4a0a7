//! Speed of the parts of the protocol core: codec with its checksums, packet numbers, congestion control, FEC, AEAD.
//!
//! `cargo bench --package restp-proto --bench parts [-- FILTER]`. Times are CPU time. FEC and AEAD have no interface of their own: they are
//! measured inside connections that differ in nothing else, so their cost is the difference to `connection/plain`.

use std::hint::black_box;
use std::time::Duration;

use bytes::Bytes;
use criterion::measurement::{Measurement, ValueFormatter, WallTime};
use criterion::{BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main};
use nix::time::{ClockId, clock_gettime};
use restp_proto::cc::{AckSample, AnyController, Controller};
use restp_proto::profile::{
    AckReport, AckTiming, Congestion, FecKind, FlowControl, Framing, Ordering, Protection, Reliability,
};
use restp_proto::protected::{Aead, Keys};
use restp_proto::wire::{
    Arq, Cong, ErrorBits, Flags, Flow, Header, Packet, PayloadCheck, Report, SackBlock, SackBlocks, Sequence,
};
use restp_proto::{
    ConnId, Ecn, Endpoint, EndpointConfig, EventKind, Instant, PathAddr, Profile, RttEstimator, seq,
};

/// Length of a full packet, header included: the default of `Tuning::max_packet_bytes`.
const PACKET_BYTES: usize = 1200;
/// Payload in the connections: leaves room for the headers of every composition measured here.
const MESSAGE_BYTES: usize = 1100;
/// Messages per measured step: one full group of both phases of interleaved FEC, two of basic XOR.
const STEP_MESSAGES: usize = 16;
/// Packets per encoded packet: the most that interleaving allows.
const FEC_GROUP: u32 = 8;
/// Round trip on which the controllers run.
const RTT: Duration = Duration::from_millis(50);
/// The window at which the controllers meet a loss, in packets.
const LOSS_WINDOW: u32 = 1000;

/// CPU time of this thread: other programs on the machine do not count.
struct CpuTime;

impl CpuTime {
    fn read() -> Duration {
        clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).expect("Linux has this clock").into()
    }
}

impl Measurement for CpuTime {
    type Intermediate = Duration;
    type Value = Duration;

    fn start(&self) -> Duration {
        Self::read()
    }

    fn end(&self, start: Duration) -> Duration {
        Self::read() - start
    }

    fn add(&self, a: &Duration, b: &Duration) -> Duration {
        *a + *b
    }

    fn zero(&self) -> Duration {
        Duration::ZERO
    }

    fn to_f64(&self, time: &Duration) -> f64 {
        WallTime.to_f64(time)
    }

    fn formatter(&self) -> &dyn ValueFormatter {
        static WALL: WallTime = WallTime;
        WALL.formatter()
    }
}

fn header(error: ErrorBits) -> Header {
    Header {
        flags: Flags::ACK,
        flow: Flow::CON,
        error,
        cong: Cong::CUBIC,
        source_port: 4000,
        destination_port: 80,
        ..Header::default()
    }
}

fn packet(error: ErrorBits, payload: &[u8]) -> Packet<'_> {
    let sequence = Sequence::Arq(Arq { sequence: 70_000, acknowledgement: 60_000 });
    Packet { window: Some(8192), sequence, payload, ..Packet::new(header(error)) }
}

/// Writes and reads one packet again and again.
fn codec(group: &mut BenchmarkGroup<'_, CpuTime>, name: &str, packet: &Packet<'_>) {
    let mut datagram = Vec::new();
    packet.encode(&mut datagram, None).expect("header bits and extensions agree");
    let decoded = Packet::decode(&datagram, None).expect("it was just written");
    assert!(decoded.packet == *packet && decoded.payload_check != PayloadCheck::Corrupt);
    group.throughput(Throughput::Bytes(datagram.len() as u64));
    let mut buffer = datagram.clone();
    group.bench_function(format!("encode/{name}"), |bencher| {
        bencher.iter(|| black_box(packet).encode_into(black_box(&mut buffer), None));
    });
    group.bench_function(format!("decode/{name}"), |bencher| {
        bencher.iter(|| Packet::decode(black_box(&datagram), None).map(|decoded| decoded.header_bytes));
    });
}

fn wire(criterion: &mut Criterion<CpuTime>) {
    let mut group = criterion.benchmark_group("wire");
    let (arq, crc) = (ErrorBits::ARQ, ErrorBits::CRC);
    codec(&mut group, "ack", &packet(arq, &[]));
    codec(&mut group, "ack+crc", &packet(arq | crc, &[]));
    let blocks = [100, 200, 300, 400].map(|left| SackBlock { left, right: left + 9 }.to_wire());
    let report = Report::Sack(SackBlocks::new(&blocks));
    codec(&mut group, "ack+crc+4sack", &Packet { report, ..packet(arq | crc | ErrorBits::SAK, &[]) });
    let payload = vec![7; PACKET_BYTES - packet(arq | crc, &[]).encoded_len()];
    codec(&mut group, "data", &packet(arq, &payload));
    codec(&mut group, "data+crc", &packet(arq | crc, &payload));
    group.finish();
}

fn numbers(criterion: &mut Criterion<CpuTime>) {
    let mut group = criterion.benchmark_group("seq");
    let mut near = 0;
    group.bench_function("to_wire+from_wire", |bencher| {
        bencher.iter(|| {
            let isn = black_box(u32::MAX - 100);
            near = seq::from_wire(isn, seq::to_wire(isn, near + 1), near).expect("one step ahead");
            near
        });
    });
    group.finish();
}

/// A sender that always fills its window and loses a packet whenever that reaches [`LOSS_WINDOW`].
struct FullWindow {
    controller: AnyController,
    rtt: RttEstimator,
    now: Instant,
    acknowledged_in_round: u32,
}

impl FullWindow {
    fn new(congestion: Congestion) -> Self {
        let mut rtt = RttEstimator::new(RTT * 3, RTT, RTT * 1000);
        rtt.sample(RTT);
        let controller = AnyController::new(congestion, 10, LOSS_WINDOW);
        Self { controller, rtt, now: Instant::ZERO, acknowledged_in_round: 0 }
    }

    /// One acknowledgement of two packets, and the new pacing rate.
    fn step(&mut self) -> Option<f64> {
        const DELIVERED: u32 = 2;
        let window = self.controller.window();
        self.now += RTT * DELIVERED / window.max(DELIVERED);
        self.acknowledged_in_round += DELIVERED;
        let round_start = self.acknowledged_in_round >= window;
        if round_start {
            self.acknowledged_in_round = 0;
        }
        if window >= LOSS_WINDOW {
            self.controller.on_congestion(self.now, window);
        }
        self.controller.on_ack(&AckSample {
            now: self.now,
            delivered: DELIVERED,
            in_flight: window,
            app_limited: false,
            in_recovery: false,
            rtt: &self.rtt,
            delivery_rate_pps: Some(10_000.0),
            loss_share: 0.0,
            round_start,
            coupling: None,
        });
        self.controller.pacing_rate_pps(&self.rtt)
    }
}

fn congestion(criterion: &mut Criterion<CpuTime>) {
    let mut group = criterion.benchmark_group("cc");
    for (name, congestion) in [
        ("newreno", Congestion::NewReno),
        ("bic", Congestion::Bic),
        ("cubic", Congestion::Cubic),
        ("bbr", Congestion::Bbr),
    ] {
        let mut flow = FullWindow::new(congestion);
        group.bench_function(name, |bencher| bencher.iter(|| flow.step()));
    }
    group.finish();
}

/// A connection of two endpoints without any network in between.
struct Ends {
    client: Endpoint,
    server: Endpoint,
    conn: ConnId,
    peer: ConnId,
    now: Instant,
    message: Bytes,
    buffer: Vec<u8>,
}

/// Hands all packets of `from` to `to`, apart from the one at place `lost`.
fn carry(from: &mut Endpoint, to: &mut Endpoint, now: Instant, buffer: &mut Vec<u8>, lost: Option<usize>) {
    let mut place = 0;
    buffer.clear();
    while let Some(transmit) = from.poll_transmit(now, STEP_MESSAGES, buffer) {
        let path = PathAddr { local: transmit.path.remote, remote: transmit.path.local };
        for packet in buffer.chunks(transmit.segment_size) {
            if lost != Some(place) {
                to.handle(now, path, Ecn::NotEct, packet);
            }
            place += 1;
        }
        buffer.clear();
    }
}

impl Ends {
    fn open(profile: Profile, aead: Option<Aead>) -> Self {
        let keys = aead.map(|aead| Keys::shared([3; 32]).with_aead(aead));
        let config = EndpointConfig { keys, ..EndpointConfig::default() };
        let composition = profile.validate().expect("the services go together");
        let mut client = Endpoint::new(config.clone(), [1; 32]);
        let mut server = Endpoint::new(config, [2; 32]);
        server.listen(80, composition.clone(), true).expect("the port is free");
        let path = PathAddr { local: ([192, 0, 2, 1], 1).into(), remote: ([192, 0, 2, 2], 1).into() };
        let mut now = Instant::ZERO;
        let conn = client.connect(now, path, 4000, 80, &composition).expect("the first connection");
        let mut buffer = Vec::new();
        let mut peer = None;
        for _ in 0..4 {
            now += Duration::from_millis(1);
            carry(&mut client, &mut server, now, &mut buffer, None);
            carry(&mut server, &mut client, now, &mut buffer, None);
            while let Some(event) = server.poll_event() {
                if matches!(event.kind, EventKind::Accepted { .. }) {
                    peer = Some(event.conn);
                }
            }
        }
        let peer = peer.expect("the handshake takes two round trips at most");
        Self { client, server, conn, peer, now, message: vec![7; MESSAGE_BYTES].into(), buffer }
    }

    /// Sends [`STEP_MESSAGES`] messages, loses the one at place `lost`, and returns how many were delivered.
    fn step(&mut self, lost: Option<usize>) -> usize {
        self.now += Duration::from_millis(1);
        self.client.handle_timeout(self.now);
        self.server.handle_timeout(self.now);
        for _ in 0..STEP_MESSAGES {
            let sent = self.client.send(self.now, self.conn, self.message.clone(), Default::default());
            sent.expect("nothing holds the messages of the last step back");
        }
        carry(&mut self.client, &mut self.server, self.now, &mut self.buffer, lost);
        carry(&mut self.server, &mut self.client, self.now, &mut self.buffer, None);
        while self.server.poll_event().is_some() {}
        while self.client.poll_event().is_some() {}
        std::iter::from_fn(|| self.server.recv(self.now, self.peer)).count()
    }
}

/// Messages in packets of their own that nobody acknowledges: nothing but the service under measurement.
fn one_way(reliability: Reliability) -> Profile {
    let mut profile = Profile {
        reliability,
        flow_control: FlowControl::None,
        congestion: Congestion::None,
        ordering: Ordering::Unordered,
        ack_timing: AckTiming::None,
        ack_report: AckReport::Cumulative,
        framing: Framing::Fixed,
        ..Profile::voice()
    };
    profile.tuning.fec_group = FEC_GROUP;
    profile.tuning.tail_probe = false;
    profile
}

fn connection(criterion: &mut Criterion<CpuTime>) {
    let mut group = criterion.benchmark_group("connection");
    group.throughput(Throughput::Elements(STEP_MESSAGES as u64));
    let plain = one_way(Reliability::None);
    let (xor, interleaved) =
        (one_way(Reliability::Quasi(FecKind::Xor)), one_way(Reliability::Quasi(FecKind::Interleaved)));
    let sealed = Profile { protection: Protection::Protected, ..plain.clone() };
    for (name, profile, aead, lost) in [
        ("plain", &plain, None, None),
        ("xor", &xor, None, None),
        ("xor+repair", &xor, None, Some(3)),
        ("interleaved", &interleaved, None, None),
        ("interleaved+repair", &interleaved, None, Some(3)),
        ("aes-256-gcm", &sealed, Some(Aead::AesGcm), None),
        ("chacha20-poly1305", &sealed, Some(Aead::ChaChaPoly), None),
    ] {
        let mut ends = Ends::open(profile.clone(), aead);
        group.bench_function(name, |bencher| {
            bencher
                .iter(|| assert_eq!(ends.step(lost), STEP_MESSAGES, "every message arrives or is repaired"));
        });
    }
    group.finish();
}

criterion_group! {
    name = parts;
    // Twenty-odd parts within a minute.
    config = Criterion::default()
        .with_measurement(CpuTime)
        .without_plots()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_millis(700));
    targets = wire, numbers, congestion, connection
}
criterion_main!(parts);

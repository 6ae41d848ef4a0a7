//! The columnar files hold what was put in, under the names and types of the record format.

use std::fs::File;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, UInt16Type, UInt32Type, UInt64Type};
use arrow_array::{Array, RecordBatch};
use arrow_ipc::reader::FileReader;
use arrow_schema::DataType;
use transports::SocketSample;
use workload::{Message, MessageLog, SocketLog};

fn read(name: &str, write: impl FnOnce(&std::path::Path)) -> RecordBatch {
    let path = std::env::temp_dir().join(format!("workload-{}-{name}", std::process::id()));
    write(&path);
    let mut reader =
        FileReader::try_new(File::open(&path).expect("the file is there"), None).expect("an Arrow file");
    let batch = reader.next().expect("one batch").expect("a whole batch");
    std::fs::remove_file(path).expect("the file can be removed");
    batch
}

fn columns(batch: &RecordBatch) -> Vec<(String, DataType, bool)> {
    let fields = batch.schema();
    fields.fields().iter().map(|f| (f.name().clone(), f.data_type().clone(), f.is_nullable())).collect()
}

#[test]
fn messages() {
    let mut log = MessageLog::new();
    log.push(0, Message { seq: 0, size_bytes: 1448, sent_ns: -5, received_ns: Some(25) });
    log.push(3, Message { seq: 7, size_bytes: 100, sent_ns: 10, received_ns: None });
    let batch = read("messages.arrow", |path| log.write(path).expect("the folder can be written"));
    let expected = [
        ("flow", DataType::UInt16, false),
        ("seq", DataType::UInt32, false),
        ("size_bytes", DataType::UInt32, false),
        ("sent_ns", DataType::Int64, false),
        ("received_ns", DataType::Int64, true),
    ];
    assert_eq!(columns(&batch), expected.map(|(name, kind, null)| (name.to_owned(), kind, null)));
    assert_eq!(batch.column(0).as_primitive::<UInt16Type>().values(), &[0, 3]);
    assert_eq!(batch.column(1).as_primitive::<UInt32Type>().values(), &[0, 7]);
    assert_eq!(batch.column(2).as_primitive::<UInt32Type>().values(), &[1448, 100]);
    assert_eq!(batch.column(3).as_primitive::<Int64Type>().values(), &[-5, 10]);
    let received = batch.column(4).as_primitive::<Int64Type>();
    assert_eq!((received.value(0), received.is_null(1)), (25, true));
}

#[test]
fn sockets() {
    let mut log = SocketLog::new();
    let sample = SocketSample {
        t_ns: 9,
        cwnd_bytes: 14_480,
        srtt_ns: Some(50_000_000),
        retransmitted_packets: 2,
        pacing_rate_bps: Some(1e6),
        ..SocketSample::default()
    };
    log.push(1, &sample);
    let batch = read("sockets.arrow", |path| log.write(path).expect("the folder can be written"));
    let names = [
        "flow",
        "t_ns",
        "cwnd_bytes",
        "ssthresh_bytes",
        "srtt_ns",
        "rttvar_ns",
        "min_rtt_ns",
        "in_flight_bytes",
        "retransmitted_packets",
        "lost_packets",
        "delivered_bytes",
        "delivery_rate_bps",
        "pacing_rate_bps",
    ];
    assert_eq!(columns(&batch).into_iter().map(|(name, _, _)| name).collect::<Vec<_>>(), names);
    assert_eq!(batch.column(1).as_primitive::<Int64Type>().values(), &[9]);
    assert_eq!(batch.column(2).as_primitive::<UInt64Type>().values(), &[14_480]);
    assert!(batch.column(3).is_null(0), "an unset threshold is null");
    assert_eq!(batch.column(4).as_primitive::<Int64Type>().values(), &[50_000_000]);
    assert_eq!(batch.column(8).as_primitive::<UInt64Type>().values(), &[2]);
    assert_eq!(batch.column(12).as_primitive::<Float64Type>().values(), &[1e6]);
}

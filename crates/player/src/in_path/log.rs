//! `in_path.arrow`: what the in-path nodes of a run did, a line an event (`docs/formats/record.md`).

use std::path::Path;

use arrow_array::builder::{
    BooleanBuilder, Int64Builder, StringBuilder, UInt8Builder, UInt16Builder, UInt32Builder,
};
use netlab::InPathLog;
use workload::columns::{column, write_file};

use crate::failure::{Failure, Result};

/// Writes the logs of all nodes, one after the other, each in the order in which things happened.
///
/// # Errors
/// The file could not be written.
pub fn write(logs: &[InPathLog], path: &Path) -> Result<()> {
    let (mut node, mut t_ns, mut event) = (UInt16Builder::new(), Int64Builder::new(), StringBuilder::new());
    let (mut how, mut packet, mut rule) = (StringBuilder::new(), UInt32Builder::new(), UInt16Builder::new());
    let (mut towards, mut length) = (UInt8Builder::new(), UInt32Builder::new());
    let (mut head, mut whole, mut valid) =
        (UInt32Builder::new(), UInt32Builder::new(), BooleanBuilder::new());
    for (number, row) in
        (0_u16..).zip(logs).flat_map(|(number, log)| log.rows.iter().map(move |row| (number, row)))
    {
        let print = row.fingerprint;
        node.append_value(number);
        t_ns.append_value(row.t_ns);
        event.append_value(row.event.name());
        how.append_option(row.event.how());
        packet.append_option(row.packet);
        rule.append_option(row.rule);
        towards.append_option(row.towards);
        length.append_option(print.map(|print| print.length_bytes));
        head.append_option(print.map(|print| print.head_crc32));
        whole.append_option(print.map(|print| print.packet_crc32));
        valid.append_option(print.and_then(|print| print.checksum_valid));
    }
    let columns = vec![
        column("node", false, &mut node),
        column("t_ns", false, &mut t_ns),
        column("event", false, &mut event),
        column("how", true, &mut how),
        column("packet", true, &mut packet),
        column("rule", true, &mut rule),
        column("towards", true, &mut towards),
        column("length_bytes", true, &mut length),
        column("head_crc32", true, &mut head),
        column("packet_crc32", true, &mut whole),
        column("checksum_valid", true, &mut valid),
    ];
    write_file(path, columns)
        .map_err(|error| Failure::new(format!("in_path.arrow cannot be written: {error}")))
}

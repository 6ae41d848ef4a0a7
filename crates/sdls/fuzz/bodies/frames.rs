//! What must hold for any octets given as a frame; run by the fuzzer and, over octets by chance, by `cargo test`.

use sdls::frame::{
    AosFrame, AosParameters, TcFrame, TcParameters, Tfdf, TmFrame, TmParameters, TransferFrame, UslpFrame,
    UslpLength, UslpParameters,
};
use sdls::ocf::{Clcw, Fsr, Ocf};
use sdls::stream::PacketSink;

/// Reads `data` as each kind of frame; whatever is read is written again and must be the same octets.
///
/// # Panics
/// If an accepted frame has a second spelling: that is the defect looked for.
pub fn frames(data: &[u8]) {
    let Some((&[choice, pointer], octets)) = data.split_first_chunk::<2>() else { return };
    let flag = |bit: u8| choice >> bit & 1 != 0;
    let (fecf, fhec, ocf, zone) = (flag(0), flag(1), flag(2), usize::from(choice >> 3 & 3));
    let frame = octets.len();
    same::<TcFrame>(octets, &TcParameters { segment_header: fhec, fecf, largest: 1024 });
    same::<TmFrame>(octets, &TmParameters { frame, fecf });
    same::<AosFrame>(octets, &AosParameters { frame, fhec, insert_zone: zone, ocf, fecf });
    let length = if ocf { UslpLength::Fixed(frame) } else { UslpLength::UpTo(500) };
    same::<UslpFrame>(
        octets,
        &UslpParameters { length, insert_zone: zone, fecf, truncated: fhec.then_some(frame) },
    );
    if let Ok(field) = Tfdf::decode(octets) {
        assert_eq!(field.encode(), octets);
    }
    if let Some(word) = octets.first_chunk::<4>() {
        match Ocf::decode(*word) {
            Ok(Ocf::Clcw(clcw)) => assert_eq!(Clcw::decode(clcw.encode()), Ok(clcw)),
            Ok(Ocf::Fsr(fsr)) => assert_eq!(Fsr::decode(fsr.encode()).encode(), *word),
            Ok(Ocf::Other(_)) | Err(_) => {}
        }
    }
    let mut sink = PacketSink::new();
    for (count, field) in octets.chunks(20).enumerate() {
        let pointer = u16::from(pointer) + u16::from(field[0]) * 8;
        sink.take(u32::try_from(count).unwrap_or(0), 255, pointer & 0x7FF, field);
    }
}

fn same<F: TransferFrame>(octets: &[u8], parameters: &F::Parameters) {
    if let Ok(frame) = F::decode(octets, parameters) {
        assert_eq!(frame.encode(parameters).as_deref(), Ok(octets), "an accepted frame has two spellings");
    }
}

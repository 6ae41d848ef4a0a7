//! What must hold of COP-1 over any link: what arrives is what was sent, in order, and each once.

use core::time::Duration;

use sdls::cop1::{Directive, Farm, Fop, FopConfig, Notification, TimeoutType, Transmit, Verdict};
use sdls::frame::{TcFrame, TcService};

fn frame(transmit: &Transmit) -> TcFrame {
    let (service, sequence, data) = match transmit {
        Transmit::Sequenced { number, data } => (TcService::SequenceControlled, *number, data.clone()),
        Transmit::Expedited(data) => (TcService::Expedited, 0, data.clone()),
        Transmit::Control(command) => (TcService::Control, 0, command.encode()),
    };
    TcFrame { service, spacecraft: 0, channel: 0, sequence, segment: None, data }
}

/// The input is a script of losses, timeouts, full receivers and directives.
///
/// What is said to be delivered has arrived if the service began in step, V(S) being V(R). Three directives see to it by a
/// report; without one COP-1 begins wherever the counts are, and data in front of V(R) pass for ones that the receiver had
/// (`tests/cop1.rs` shows it). With V(R) further ahead than the window nothing is acknowledged, so that the promise holds too.
/// No frame and no report is late here: a report from before the service could agree with V(S) by chance.
///
/// # Panics
/// If data arrive out of order, twice, or are said to be delivered and did not arrive: those are the defects looked for.
pub fn cop1(script: &[u8]) {
    let config = FopConfig {
        channel: 0,
        window: 1 + script.first().map_or(3, |octet| octet % 100),
        timer: Duration::from_secs(2),
        transmission_limit: 1 + script.get(1).map_or(3, |octet| u32::from(octet % 5)),
        timeout_type: if script.get(2).is_some_and(|octet| octet & 1 != 0) {
            TimeoutType::Suspend
        } else {
            TimeoutType::Alert
        },
    };
    let window = config.window;
    let mut fop = Fop::new(config).expect("a window and a limit");
    let mut farm = Farm::new(0, 200).expect("an even window");
    let (mut now, mut next) = (Duration::ZERO, 0_u32);
    let (mut arrived, mut in_step) = (Vec::<u32>::new(), true);
    for action in script {
        now += Duration::from_millis(u64::from(action >> 4) * 100);
        match action & 15 {
            begin @ 0..=3 => {
                let ahead = farm.expected().wrapping_sub(fop.next_number());
                let directive = match begin {
                    0 => Directive::InitiateWithoutReport,
                    1 => Directive::InitiateWithReport,
                    2 => Directive::InitiateWithUnlock,
                    _ => Directive::InitiateWithSetVr(farm.expected()),
                };
                if fop.direct(now, directive).is_ok() {
                    in_step = begin != 0 || ahead == 0 || ahead > window;
                }
            }
            4 => drop(fop.direct(now, Directive::Resume)),
            5 => farm.room(),
            6 => fop.handle_timeout(now),
            7 if action >> 4 == 0 => drop(fop.direct(now, Directive::Terminate)),
            _ => {
                if fop.send(next.to_be_bytes().to_vec()).is_ok() {
                    next += 1;
                }
            }
        }
        while let Some(transmit) = fop.poll_transmit(now) {
            fop.accepted(&transmit);
            let frame = frame(&transmit);
            let lost = action >> 5 == 1;
            if !lost && farm.receive(&frame, action & 0x1F != 0x1B) == Verdict::Accepted {
                arrived.push(u32::from_be_bytes(frame.data.try_into().expect("four octets")));
            }
        }
        assert!(arrived.windows(2).all(|pair| pair[0] < pair[1]), "out of order or twice: {arrived:?}");
        if action >> 6 != 1 {
            fop.handle_report(now, &farm.report());
        }
        while let Some(notification) = fop.poll_notification() {
            // The first data have the name 1.
            let Notification::Delivered(name) = notification else { continue };
            let has_arrived = arrived.binary_search_by(|data| (u64::from(*data) + 1).cmp(&name)).is_ok();
            assert!(has_arrived || !in_step, "{name} is delivered and did not arrive: {arrived:?}");
        }
    }
}

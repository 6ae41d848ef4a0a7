//! COP-1: each event in each state, and a service over a link that loses.

use core::time::Duration;

use sdls::cop1::{
    Alert, Directive, Farm, FarmState, Fop, FopConfig, FopError, FopState, Notification, TimeoutType,
    Transmit, Verdict,
};
use sdls::frame::{ControlCommand, TcFrame, TcService};
use sdls::ocf::{Clcw, Fsr, Ocf};

const T1: Duration = Duration::from_secs(10);

fn config() -> FopConfig {
    FopConfig { channel: 3, window: 4, timer: T1, transmission_limit: 3, timeout_type: TimeoutType::Alert }
}

fn report(number: u8, retransmit: bool, wait: bool) -> Clcw {
    Clcw { retransmit, wait, report: number, ..Farm::new(3, 10).expect("an even window").report() }
}

fn ad(number: u8) -> TcFrame {
    let data = vec![number];
    TcFrame {
        service: TcService::SequenceControlled,
        spacecraft: 1,
        channel: 3,
        sequence: number,
        segment: None,
        data,
    }
}

fn bc(command: ControlCommand) -> TcFrame {
    TcFrame { service: TcService::Control, data: command.encode(), ..ad(0) }
}

/// A sender in `state`; in the first three, numbers 0 to 2 were sent and 0 is acknowledged.
fn fop_in(state: FopState) -> Fop {
    let mut fop = Fop::new(config()).expect("a window and a limit");
    let now = Duration::ZERO;
    match state {
        FopState::Initial => return fop,
        FopState::AwaitReport => fop.direct(now, Directive::InitiateWithReport).expect("no service yet"),
        FopState::AwaitCommand => {
            fop.direct(now, Directive::InitiateWithUnlock).expect("no service yet");
            let transmit = fop.poll_transmit(now).expect("a command");
            fop.accepted(&transmit);
        }
        _ => {
            fop.direct(now, Directive::InitiateWithoutReport).expect("no service yet");
            for _ in 0..3 {
                fop.send(vec![7]).expect("room");
                let transmit = fop.poll_transmit(now).expect("a frame");
                fop.accepted(&transmit);
            }
            fop.handle_report(now, &report(1, false, false));
        }
    }
    match state {
        FopState::Retransmit => fop.handle_report(now, &report(1, true, false)),
        FopState::RetransmitWait => fop.handle_report(now, &report(1, true, true)),
        _ => {}
    }
    assert_eq!(fop.state(), state);
    while fop.poll_notification().is_some() {}
    fop
}

const S1: FopState = FopState::Active;
const S2: FopState = FopState::Retransmit;
const S3: FopState = FopState::RetransmitWait;
const S4: FopState = FopState::AwaitReport;
const S5: FopState = FopState::AwaitCommand;
const S6: FopState = FopState::Initial;

/// The state after each event, in the states S1 to S6; the events of a report need frames under way where they say so.
/// As dariol83/ccsds has it, classes S1FopState to S6FopState.
#[test]
fn each_report_leads_where_the_table_says() {
    type Row = (&'static str, fn() -> Clcw, [FopState; 6]);
    let rows: [Row; 12] = [
        ("E2 all arrived", || report(3, false, false), [S1, S1, S1, S6, S5, S6]),
        ("E3 all arrived, wait", || report(3, false, true), [S6, S6, S6, S6, S5, S6]),
        ("E4 all arrived, retransmit", || report(3, true, false), [S6, S6, S6, S6, S5, S6]),
        ("E5 none new", || report(1, false, false), [S1, S6, S6, S6, S5, S6]),
        ("E6 some arrived", || report(2, false, false), [S1, S1, S1, S6, S5, S6]),
        ("E7 some under way, wait", || report(2, false, true), [S6, S6, S6, S6, S5, S6]),
        ("E8 some arrived, retransmit", || report(2, true, false), [S2, S2, S2, S6, S5, S6]),
        ("E9 some arrived, retransmit and wait", || report(2, true, true), [S3, S3, S3, S6, S5, S6]),
        ("E10 none new, retransmit", || report(1, true, false), [S2, S2, S2, S6, S5, S6]),
        ("E11 none new, retransmit and wait", || report(1, true, true), [S3, S3, S3, S6, S5, S6]),
        ("E13 a number never sent", || report(9, false, false), [S6, S6, S6, S6, S5, S6]),
        ("E14 lockout", || Clcw { lockout: true, ..report(1, false, false) }, [S6, S6, S6, S6, S5, S6]),
    ];
    for (event, clcw, after) in rows {
        for (before, after) in [S1, S2, S3, S4, S5, S6].into_iter().zip(after) {
            let mut fop = fop_in(before);
            fop.handle_report(Duration::ZERO, &clcw());
            assert_eq!(fop.state(), after, "{event} in {before:?}");
        }
    }
    for (before, after) in [(S4, S1), (S5, S1), (S6, S6)] {
        let mut fop = fop_in(before);
        fop.handle_report(Duration::ZERO, &report(0, false, false));
        assert_eq!(fop.state(), after, "E1 in {before:?}");
    }
    let mut fop = fop_in(S1);
    fop.handle_report(Duration::ZERO, &Clcw { cop: 2, ..report(3, false, false) });
    assert_eq!(fop.state(), S6, "E15");
    let mut fop = fop_in(S1);
    fop.handle_report(Duration::ZERO, &Clcw { channel: 4, lockout: true, ..report(9, false, false) });
    assert_eq!(fop.state(), S1, "another channel's report");
}

#[test]
fn the_timer_sends_again_and_ends_at_the_limit() {
    for kind in [TimeoutType::Alert, TimeoutType::Suspend] {
        let mut fop = fop_in(S1);
        fop.direct(Duration::ZERO, Directive::SetTimeoutType(kind)).expect("any state");
        let mut now;
        for _ in 0..2 {
            now = fop.poll_timeout().expect("frames are under way");
            fop.handle_timeout(now - Duration::from_nanos(1));
            assert!(fop.poll_transmit(now).is_none(), "before its time");
            fop.handle_timeout(now);
            for number in [1, 2] {
                let transmit = fop.poll_transmit(now).expect("sent again");
                assert_eq!(transmit, Transmit::Sequenced { number, data: vec![7] });
                assert!(fop.poll_transmit(now).is_none(), "the layer below has not taken the last one");
                fop.accepted(&transmit);
            }
        }
        now = fop.poll_timeout().expect("frames are under way");
        fop.handle_timeout(now);
        assert_eq!(fop.state(), S6);
        let told: Vec<_> = std::iter::from_fn(|| fop.poll_notification()).collect();
        if kind == TimeoutType::Alert {
            let expected =
                [Notification::GivenUp(2), Notification::GivenUp(3), Notification::Alert(Alert::Timer)];
            assert_eq!(told, expected);
            assert!(matches!(fop.direct(now, Directive::Resume), Err(FopError::Directive { .. })));
        } else {
            assert_eq!(told, [Notification::Suspended]);
            assert!(fop.direct(now, Directive::SetVs(9)).is_err(), "suspended, not ended");
            fop.direct(now, Directive::Resume).expect("it is suspended");
            assert_eq!(fop.state(), S1);
            fop.handle_report(now, &report(3, false, false));
            let told: Vec<_> = std::iter::from_fn(|| fop.poll_notification()).collect();
            assert_eq!(told, [Notification::Running, Notification::Delivered(2), Notification::Delivered(3)]);
        }
    }
}

#[test]
fn directives_to_begin_are_refused_while_there_is_a_service() {
    for state in [S1, S2, S3, S4, S5] {
        for directive in [
            Directive::InitiateWithoutReport,
            Directive::InitiateWithReport,
            Directive::InitiateWithUnlock,
            Directive::InitiateWithSetVr(1),
            Directive::Resume,
            Directive::SetVs(1),
        ] {
            let refused = fop_in(state).direct(Duration::ZERO, directive);
            assert_eq!(refused, Err(FopError::Directive { state, directive }));
        }
        let mut fop = fop_in(state);
        fop.direct(Duration::ZERO, Directive::Terminate).expect("any state");
        assert_eq!(fop.state(), S6);
    }
    for state in [S4, S5, S6] {
        assert_eq!(fop_in(state).send(vec![]), Err(FopError::NoService { state }));
    }
    let mut fop = fop_in(S1);
    fop.send(vec![1]).expect("room");
    assert_eq!(fop.send(vec![2]), Err(FopError::Busy));
    assert!(Fop::new(FopConfig { window: 0, ..config() }).is_err());
    assert!(Fop::new(FopConfig { transmission_limit: 0, ..config() }).is_err());
}

#[test]
fn the_window_holds_frames_back_and_one_transmission_alerts() {
    let mut fop = fop_in(S1);
    for sent in [true, true, false] {
        fop.send(vec![1]).expect("room");
        let transmit = fop.poll_transmit(Duration::ZERO);
        assert_eq!(transmit.is_some(), sent, "four are under way");
        transmit.iter().for_each(|transmit| fop.accepted(transmit));
    }
    let mut fop = fop_in(S1);
    fop.direct(Duration::ZERO, Directive::SetTransmissionLimit(1)).expect("any state");
    fop.handle_report(Duration::ZERO, &report(2, true, false));
    assert_eq!(fop.state(), S6, "E101");
    let told: Vec<_> = std::iter::from_fn(|| fop.poll_notification()).collect();
    assert_eq!(
        told,
        [Notification::Delivered(2), Notification::GivenUp(3), Notification::Alert(Alert::Limit)]
    );
}

/// A receiver in each state: the verdict and the state after each event.
#[test]
fn the_receiver_judges_as_the_table_says() {
    let in_state = |state| {
        let mut farm = Farm::new(3, 10).expect("an even window");
        for number in 0..100 {
            assert_eq!(farm.receive(&ad(number), true), Verdict::Accepted);
        }
        match state {
            FarmState::Open => {}
            FarmState::Wait => assert_eq!(farm.receive(&ad(100), false), Verdict::NoRoom),
            FarmState::Lockout => assert_eq!(farm.receive(&ad(200), true), Verdict::OutsideWindow),
        }
        assert_eq!(farm.state(), state);
        farm
    };
    use FarmState::{Lockout, Open, Wait};
    use Verdict::{
        Accepted, Commanded, Duplicate, LockedOut, NoCommand, NoRoom, OutOfSequence, OutsideWindow,
    };
    let bd = TcFrame { service: TcService::Expedited, ..ad(0) };
    let none = TcFrame { service: TcService::Control, ..ad(9) };
    let set = bc(ControlCommand::SetVr(7));
    type Row = (&'static str, TcFrame, bool, [(Verdict, FarmState, u8); 3]);
    let rows: [Row; 11] = [
        (
            "E1 expected",
            ad(100),
            true,
            [(Accepted, Open, 101), (NoRoom, Wait, 100), (LockedOut, Lockout, 100)],
        ),
        (
            "E2 expected, no room",
            ad(100),
            false,
            [(NoRoom, Wait, 100), (NoRoom, Wait, 100), (LockedOut, Lockout, 100)],
        ),
        (
            "E3 ahead",
            ad(101),
            true,
            [(OutOfSequence, Open, 100), (OutOfSequence, Wait, 100), (LockedOut, Lockout, 100)],
        ),
        (
            "E3 the last ahead",
            ad(104),
            true,
            [(OutOfSequence, Open, 100), (OutOfSequence, Wait, 100), (LockedOut, Lockout, 100)],
        ),
        (
            "E4 behind",
            ad(99),
            true,
            [(Duplicate, Open, 100), (Duplicate, Wait, 100), (LockedOut, Lockout, 100)],
        ),
        (
            "E4 the first behind",
            ad(95),
            true,
            [(Duplicate, Open, 100), (Duplicate, Wait, 100), (LockedOut, Lockout, 100)],
        ),
        (
            "E5 too far ahead",
            ad(105),
            true,
            [(OutsideWindow, Lockout, 100), (OutsideWindow, Lockout, 100), (LockedOut, Lockout, 100)],
        ),
        (
            "E5 too far behind",
            ad(94),
            true,
            [(OutsideWindow, Lockout, 100), (OutsideWindow, Lockout, 100), (LockedOut, Lockout, 100)],
        ),
        ("E6 expedited", bd, true, [(Accepted, Open, 100), (Accepted, Wait, 100), (Accepted, Lockout, 100)]),
        ("E8 set V(R)", set, true, [(Commanded, Open, 7), (Commanded, Open, 7), (Commanded, Lockout, 100)]),
        (
            "E9 no command",
            none,
            true,
            [(NoCommand, Open, 100), (NoCommand, Wait, 100), (NoCommand, Lockout, 100)],
        ),
    ];
    for (event, frame, room, after) in rows {
        for (before, (verdict, state, expected)) in [Open, Wait, Lockout].into_iter().zip(after) {
            let mut farm = in_state(before);
            assert_eq!(farm.receive(&frame, room), verdict, "{event} in {before:?}");
            assert_eq!((farm.state(), farm.expected()), (state, expected), "{event} in {before:?}");
            let counted = u8::from(matches!(frame.service, TcService::Expedited) || verdict == Commanded);
            assert_eq!(farm.report().farm_b, counted, "{event} in {before:?}");
        }
    }
    for before in [Open, Wait, Lockout] {
        let clean = Clcw { farm_b: 1, report: 100, ..Farm::new(3, 10).expect("an even window").report() };
        for has_room in [true, false] {
            let mut farm = in_state(before);
            if has_room {
                farm.room();
                assert_eq!(farm.state(), if before == Lockout { Lockout } else { Open }, "E10");
            }
            assert_eq!(farm.receive(&bc(ControlCommand::Unlock), true), Commanded);
            assert_eq!((farm.state(), farm.report()), (Open, clean), "E7, E11 in {before:?}");
        }
    }
    assert!(Farm::new(0, 0).is_err() && Farm::new(0, 7).is_err() && Farm::new(0, 254).is_ok());
}

/// dariol83/ccsds, ClcwTest.java.
#[test]
fn control_words_of_another_implementation_are_read() {
    let words = [([0, 2, 0xA6, 0x89], 137, 3), ([0, 2, 0xD0, 0xD4], 212, 0)];
    for (octets, number, farm_b) in words {
        let clcw = Clcw::decode(octets).expect("a CLCW");
        assert_eq!((clcw.cop, clcw.status, clcw.report, clcw.farm_b), (0, 0, number, farm_b));
    }
    assert!(Clcw::decode([0x20, 0, 0, 0]).is_err());
    let fsr = Fsr { alarm: true, bad_mac: true, spi: 42, sequence: 0xAB, ..Fsr::default() };
    assert_eq!((fsr.encode(), Ocf::decode(fsr.encode())), ([0xCA, 0, 42, 0xAB], Ok(Ocf::Fsr(fsr))));
}

/// A link that loses a third of frames and a quarter of reports by chance, for more frames than there are numbers. (Loss
/// at a fixed beat can hit the same frame of a window each time it is sent again, for ever.)
#[test]
fn data_arrive_whole_and_in_order_over_a_link_that_loses() {
    let mut fop = Fop::new(FopConfig { window: 8, transmission_limit: 50, ..config() }).expect("a window");
    let mut farm = Farm::new(3, 32).expect("an even window");
    let mut now = Duration::ZERO;
    fop.direct(now, Directive::InitiateWithSetVr(250)).expect("no service yet");
    let (mut sent, mut arrived, mut delivered) = (0_u16, Vec::new(), 0);
    // Numerical Recipes' linear congruential generator; its upper bits are good enough for a coin.
    let mut chance = 20_261_123_u32;
    let mut one_in = |count: u32| {
        chance = chance.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (chance >> 16).is_multiple_of(count)
    };
    for round in 0.. {
        assert!(round < 100_000, "{} of 600 arrived", arrived.len());
        if sent < 600 && fop.send(sent.to_be_bytes().to_vec()).is_ok() {
            sent += 1;
        }
        while let Some(transmit) = fop.poll_transmit(now) {
            fop.accepted(&transmit);
            if one_in(3) {
                continue;
            }
            let frame = match transmit {
                Transmit::Sequenced { number, data } => TcFrame { data, ..ad(number) },
                Transmit::Control(command) => bc(command),
                Transmit::Expedited(_) => unreachable!("none was sent"),
            };
            if farm.receive(&frame, !one_in(7)) == Verdict::Accepted {
                arrived.push(u16::from_be_bytes(frame.data.try_into().expect("two octets")));
            }
        }
        farm.room();
        now += Duration::from_secs(1);
        if !one_in(4) {
            fop.handle_report(now, &farm.report());
        }
        fop.handle_timeout(now);
        while let Some(notification) = fop.poll_notification() {
            assert!(!matches!(notification, Notification::Alert(_)), "{notification:?} after {round} rounds");
            delivered += usize::from(matches!(notification, Notification::Delivered(_)));
        }
        if delivered == 600 {
            break;
        }
    }
    assert_eq!(arrived, (0..600).collect::<Vec<_>>());
}

/// A sender that begins at number 0 while the receiver expects another, and sends as many frames as its window has.
#[test]
fn without_a_report_data_in_front_of_the_receivers_count_pass_for_delivered() {
    let now = Duration::ZERO;
    let window = config().window;
    for ahead in 0..=window + 1 {
        let mut fop = Fop::new(config()).expect("a window and a limit");
        let mut farm = Farm::new(3, 10).expect("an even window");
        assert_eq!(farm.receive(&bc(ControlCommand::SetVr(ahead)), true), Verdict::Commanded);

        let mut careful = fop.clone();
        careful.direct(now, Directive::InitiateWithReport).expect("no service yet");
        careful.handle_report(now, &farm.report());
        assert_eq!(careful.state(), if ahead == 0 { S1 } else { S6 }, "with a report, {ahead} ahead");

        fop.direct(now, Directive::InitiateWithoutReport).expect("no service yet");
        let mut arrived = 0;
        for number in 0..window {
            fop.send(vec![number]).expect("room");
            let transmit = fop.poll_transmit(now).expect("a frame");
            fop.accepted(&transmit);
            let verdict = farm.receive(&ad(number), true);
            assert_eq!(verdict, if number < ahead { Verdict::Duplicate } else { Verdict::Accepted });
            arrived += u8::from(verdict == Verdict::Accepted);
        }
        fop.handle_report(now, &farm.report());
        let told: Vec<_> = std::iter::from_fn(|| fop.poll_notification()).collect();
        let delivered = told.iter().filter(|told| matches!(told, Notification::Delivered(_))).count();
        assert_eq!(arrived, window.saturating_sub(ahead), "{ahead} ahead");
        if ahead <= window {
            assert_eq!((fop.state(), delivered), (S1, usize::from(window)), "{ahead} ahead");
        } else {
            assert_eq!(delivered, 0, "{ahead} ahead");
            assert_eq!(told.last(), Some(&Notification::Alert(Alert::ReportedNumber)), "{ahead} ahead");
        }
    }
}

//! The whole table, cell by cell, written down a second time as text: role, state, event, what is sent, next state.
//!
//! Read from the public state machines named in `table.rs`; a cell that is missing here fails the test.

use std::collections::BTreeMap;

use super::*;

/// Events by the names of the rows below. `sn+`/`sn-`: sequence number is the next one or not; `ts+`/`ts-`: confirmed time
/// stamp in range or not; `has`/`lost`: what is asked for is there or not; `v+`/`v-`: version accepted or not.
fn inputs() -> Vec<(&'static str, Input)> {
    let order = |in_sequence, timely| Order { in_sequence, timely };
    let request = |in_sequence, available| Input::RetransmissionRequest { in_sequence, available };
    vec![
        ("open", Input::Open),
        ("close", Input::Close),
        ("send", Input::Send),
        ("connreq v+", Input::ConnectionRequest { version_fits: true }),
        ("connreq v-", Input::ConnectionRequest { version_fits: false }),
        ("connresp v+", Input::ConnectionResponse { version_fits: true }),
        ("connresp v-", Input::ConnectionResponse { version_fits: false }),
        ("retrreq sn+ has", request(true, true)),
        ("retrreq sn+ lost", request(true, false)),
        ("retrreq sn- has", request(false, true)),
        ("retrreq sn- lost", request(false, false)),
        ("retrresp", Input::RetransmissionResponse),
        ("discreq", Input::DisconnectionRequest),
        ("hb sn+ ts+", Input::Heartbeat(order(true, true))),
        ("hb sn+ ts-", Input::Heartbeat(order(true, false))),
        ("hb sn-", Input::Heartbeat(order(false, true))),
        ("data sn+ ts+", Input::Data(order(true, true))),
        ("data sn+ ts-", Input::Data(order(true, false))),
        ("data sn-", Input::Data(order(false, true))),
        ("retrdata sn+ ts+", Input::RetransmittedData(order(true, true))),
        ("retrdata sn+ ts-", Input::RetransmittedData(order(true, false))),
        ("retrdata sn-", Input::RetransmittedData(order(false, true))),
        ("t_h", Input::HeartbeatDue),
        ("t_i", Input::TimedOut),
    ]
}

/// One line an event; the columns are closed (client), closed (server), down, start (client), start (server), up,
/// retransmission requested, retransmission running. A cell is `what>state`; a number is the reason of a DiscReq.
const TABLE: &str = "
open             | open>S     | open>D | drop>C      | 5>C        | 5>C       | 5>C               | 5>C               | 5>C
close            | .>C        | .>C    | drop>C      | 0>C        | 0>C       | 0>C               | 0>C               | 0>C
send             | .>C        | .>C    | drop>C      | 5>C        | 5>C       | send>U            | send>Q            | send>R
connreq v+       | .>C        | .>C    | connresp>S  | 2>C        | 2>C       | 2>C               | 2>C               | 2>C
connreq v-       | .>C        | .>C    | 6>C         | 2>C        | 2>C       | 2>C               | 2>C               | 2>C
connresp v+      | .>C        | .>C    | .>D         | hb>U       | 2>C       | 2>C               | 2>C               | 2>C
connresp v-      | .>C        | .>C    | .>D         | 6>C        | 2>C       | 2>C               | 2>C               | 2>C
retrreq sn+ has  | .>C        | .>C    | .>D         | 2>C        | 2>C       | retr>U            | retr>Q            | 2>C
retrreq sn+ lost | .>C        | .>C    | .>D         | 2>C        | 2>C       | 7>C               | 7>C               | 2>C
retrreq sn- has  | .>C        | .>C    | .>D         | 2>C        | 2>C       | retr+retrreq>Q    | retr(sn-)>Q       | retr+retrreq>Q
retrreq sn- lost | .>C        | .>C    | .>D         | 2>C        | 2>C       | 7>C               | 7>C               | 7>C
retrresp         | .>C        | .>C    | .>D         | 2>C        | 2>C       | 2>C               | take>R            | 2>C
discreq          | .>C        | .>C    | .>D         | drop>C     | drop>C    | drop>C            | drop>C            | drop>C
hb sn+ ts+       | .>C        | .>C    | .>D         | 2>C        | take>U    | take>U            | .>Q               | take>U
hb sn+ ts-       | .>C        | .>C    | .>D         | 2>C        | 8>C       | 8>C               | .>Q               | 8>C
hb sn-           | .>C        | .>C    | .>D         | 2>C        | 3>C       | retrreq>Q         | .>Q               | retrreq>Q
data sn+ ts+     | .>C        | .>C    | .>D         | 2>C        | 2>C       | take>U            | .>Q               | take>U
data sn+ ts-     | .>C        | .>C    | .>D         | 2>C        | 2>C       | 8>C               | .>Q               | 8>C
data sn-         | .>C        | .>C    | .>D         | 2>C        | 2>C       | retrreq>Q         | .>Q               | retrreq>Q
retrdata sn+ ts+ | .>C        | .>C    | .>D         | 2>C        | 2>C       | 2>C               | .>Q               | take>R
retrdata sn+ ts- | .>C        | .>C    | .>D         | 2>C        | 2>C       | 2>C               | .>Q               | 8>C
retrdata sn-     | .>C        | .>C    | .>D         | 2>C        | 2>C       | 2>C               | .>Q               | retrreq>Q
t_h              | .>C        | .>C    | .>D         | .>S        | hb>S      | hb>U              | hb>Q              | hb>R
t_i              | .>C        | .>C    | .>D         | 4>C        | 4>C       | 4>C               | 4>C               | 4>C
";

fn shown((act, next): (Act, State), processes: bool) -> String {
    let what = match act {
        Act::Ignore => ".".into(),
        Act::Open => "open".into(),
        Act::Close(reason) => reason.number().to_string(),
        Act::Drop => "drop".into(),
        Act::Process(Then::Done) => "take".into(),
        Act::Process(Then::Respond) => "connresp".into(),
        Act::Process(Then::Retransmit) => "retr".into(),
        Act::Process(Then::Heartbeat) | Act::Heartbeat => "hb".into(),
        Act::RetransmitOutOfSequence { request: true } => "retr+retrreq".into(),
        Act::RetransmitOutOfSequence { request: false } => "retr(sn-)".into(),
        Act::Request => "retrreq".into(),
        Act::Send => "send".into(),
    };
    assert_eq!(matches!(act, Act::Process(_)), processes, "{what}: messages are processed, others are not");
    let next = match next {
        State::Closed => "C",
        State::Down => "D",
        State::Start => "S",
        State::Up => "U",
        State::RetransmissionRequested => "Q",
        State::RetransmissionRunning => "R",
    };
    format!("{what}>{next}")
}

#[test]
fn every_cell_of_the_state_table() {
    let columns = [
        (Role::Client, State::Closed),
        (Role::Server, State::Closed),
        (Role::Server, State::Down),
        (Role::Client, State::Start),
        (Role::Server, State::Start),
        (Role::Client, State::Up),
        (Role::Client, State::RetransmissionRequested),
        (Role::Client, State::RetransmissionRunning),
    ];
    let rows: BTreeMap<&str, Vec<&str>> = TABLE
        .lines()
        .filter_map(|line| {
            let mut cells = line.split('|').map(str::trim);
            Some((cells.next().filter(|name| !name.is_empty())?, cells.collect()))
        })
        .collect();
    let inputs = inputs();
    assert_eq!(rows.len(), inputs.len());
    for (name, input) in inputs {
        let row = &rows[name];
        assert_eq!(row.len(), columns.len(), "{name}");
        for ((role, state), cell) in columns.into_iter().zip(row) {
            let step = step(role, state, input);
            let processes = matches!(*cell, "connresp>S" | "hb>U" | "retr>U" | "retr>Q") && name != "t_h"
                || cell.starts_with("take");
            assert_eq!(shown(step, processes), *cell, "{name} in {state:?} as {role:?}");
            if state.is_open() {
                assert_eq!(
                    super::step(Role::Server, state, input),
                    step,
                    "{name} in {state:?}: roles differ"
                );
            }
        }
    }
}

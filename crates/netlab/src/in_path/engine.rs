//! What an in-path node does with each packet, without sockets and without a clock: it is told what time it is.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use serde_json::{Map, Value};

use super::action::{Action, Extra, Fate, Hand, Order, Store};
use super::actions;
use super::frame::{ETHERNET_BYTES, Frame};
use super::log::{self, Emitted, Event, Fingerprint, InPathCounters, InPathLog, Row};
use super::matcher::{Found, Matcher, Names, Seen};
use super::matchers;
use super::messages::Part;
use super::packet::Headers;
use super::spec::{InPathSpec, RuleSpec};
use super::stores::{Held, Stores};
use super::tracker::Tracker;
use crate::clock::seconds_to_ns;
use crate::random::Random;

/// Most rules of a node: their places are 16 bits of the log.
const MOST_RULES: usize = 1000;

/// The rules of a node, and what they wait for.
pub(crate) struct Engine {
    rules: Vec<Rule>,
    trackers: Vec<Tracker>,
    stores: Stores,
    due: BinaryHeap<Reverse<Due>>,
    scheduled: u64,
    ethernet: [[u8; ETHERNET_BYTES]; 2],
    rows: Vec<Row>,
    counters: InPathCounters,
    seen: u32,
}

struct Rule {
    id: String,
    conditions: Vec<Box<dyn Matcher>>,
    action: Box<dyn Action>,
    /// It is called at this instant, and by no packet.
    at_ns: Option<i64>,
}

/// Something that is to happen later.
struct Due {
    at_ns: i64,
    order: u64,
    what: What,
}

enum What {
    /// A packet leaves.
    Leaves(Leaving),
    /// A rule is called.
    Calls(u16),
    /// A held packet has waited long enough.
    Expires { name: String, packet: u32 },
}

struct Leaving {
    frame: Frame,
    how: Emitted,
    packet: Option<u32>,
    rule: Option<u16>,
}

impl PartialEq for Due {
    fn eq(&self, other: &Self) -> bool {
        self.order == other.order
    }
}
impl Eq for Due {}
impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Due {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at_ns, self.order).cmp(&(other.at_ns, other.order))
    }
}

/// A packet that leaves now, and its line in the log.
#[derive(Debug)]
pub(crate) struct Departure {
    pub frame: Frame,
    pub row: usize,
}

impl Engine {
    /// The node of `spec`. `ethernet`: the header of a packet that comes from nowhere, towards either side.
    ///
    /// # Errors
    /// One sentence that names the node, the rule and what would be right.
    pub fn new(
        spec: &InPathSpec,
        names: &Names<'_>,
        trackers: Vec<Tracker>,
        run_seed: u64,
        ethernet: [[u8; ETHERNET_BYTES]; 2],
    ) -> Result<Engine, String> {
        let mut ids = BTreeSet::new();
        if spec.rules.len() > MOST_RULES {
            return Err(format!(
                "in-path node \"{}\": it has {} rules; {MOST_RULES} are the most",
                spec.node,
                spec.rules.len()
            ));
        }
        let mut rules = Vec::with_capacity(spec.rules.len());
        for rule in &spec.rules {
            let here = format!("in-path node \"{}\", rule \"{}\"", spec.node, rule.id);
            if !ids.insert(&rule.id) {
                return Err(format!("{here}: another rule of the node has this id; ids are unique"));
            }
            let name = format!("in-path {} {}", spec.node, rule.id);
            let made = Rule::new(rule, names, |part| Random::new(run_seed, &format!("{name} {part}")));
            rules.push(made.map_err(|wrong| format!("{here}: {wrong}"))?);
        }
        stores_are_filled(&rules).map_err(|wrong| format!("in-path node \"{}\", {wrong}", spec.node))?;
        let counters = InPathCounters {
            node: spec.node.clone(),
            between: spec.between.clone(),
            rules: rules
                .iter()
                .map(|rule| log::RuleCounters { id: rule.id.clone(), ..Default::default() })
                .collect(),
            ..InPathCounters::default()
        };
        let mut engine = Engine {
            rules,
            trackers,
            stores: Stores::default(),
            due: BinaryHeap::new(),
            scheduled: 0,
            ethernet,
            rows: Vec::new(),
            counters,
            seen: 0,
        };
        for index in 0..engine.rules.len() {
            if let Some(at_ns) = engine.rules[index].at_ns {
                engine.later(at_ns, What::Calls(index as u16));
            }
        }
        Ok(engine)
    }

    /// When [`Engine::due`] is to be called next.
    pub fn next_ns(&self) -> Option<i64> {
        self.due.peek().map(|Reverse(due)| due.at_ns)
    }

    /// A packet has come: what leaves at once.
    pub fn packet(&mut self, now_ns: i64, frame: Frame) -> Vec<Departure> {
        let number = self.seen;
        self.seen += 1;
        self.ethernet[frame.towards] = frame.ethernet;
        self.ethernet[1 - frame.towards] = turned(&frame.ethernet);
        let mut headers = Headers::of(&frame.bytes);
        let mut parts = self.parts(&frame.bytes, headers.as_ref());
        let towards = frame.towards;
        let print = Fingerprint::of(&frame.bytes);
        let row = Row {
            t_ns: now_ns,
            event: Event::Seen,
            packet: Some(number),
            rule: None,
            towards: Some(towards as u8),
            fingerprint: Some(print),
        };
        self.rows.push(row);
        let mut extra = Vec::new();
        let mut hand = Hand::new(Some(frame), &mut self.stores, &self.ethernet);
        let mut last_rule = None;
        for (index, rule) in (0_u16..).zip(&mut self.rules).filter(|(_, rule)| rule.at_ns.is_none()) {
            let bytes = hand.frame.as_ref().map_or(&[][..], |frame| &frame.bytes);
            let seen = Seen { now_ns, towards, bytes, headers: headers.as_ref(), parts: &parts };
            let mut found = Found::default();
            if !rule.conditions.iter_mut().all(|condition| condition.holds(&seen, &mut found)) {
                continue;
            }
            let length = bytes.len();
            self.rows.push(Row { event: Event::Matched, rule: Some(index), fingerprint: None, ..row });
            hand.part = found.part;
            if !rule.action.act(&mut hand) {
                self.rows.push(Row { event: Event::Unfit, rule: Some(index), fingerprint: None, ..row });
            }
            extra.extend(hand.extra.drain(..).map(|extra| (extra, index)));
            last_rule = Some(index);
            if hand.fate != Fate::Passes {
                break;
            }
            headers = hand.headers();
            if hand.frame.as_ref().is_none_or(|frame| frame.bytes.len() != length) {
                // Where its messages are now cannot be told.
                parts.clear();
            }
        }
        let Hand { frame, fate, delay_ns, releases, .. } = hand;
        let mut out = Vec::new();
        let Some(frame) = frame else { return out };
        let altered = last_rule.is_some() && Fingerprint::of(&frame.bytes) != print;
        let how = if altered { Emitted::Altered } else { Emitted::Passed };
        let (before, behind) = extra.into_iter().partition(|(extra, _)| extra.before);
        self.leave(now_ns, before, Some(number), &mut out);
        match fate {
            Fate::Passes => {
                let leaving = Leaving { frame, how, packet: Some(number), rule: None };
                self.leave_after(now_ns, delay_ns, leaving, &mut out);
            }
            Fate::Dropped => {
                self.rows.push(Row { event: Event::Dropped, rule: last_rule, fingerprint: None, ..row });
            }
            Fate::Held { name, most_ns } => {
                self.rows.push(Row { event: Event::Held, rule: last_rule, fingerprint: None, ..row });
                if let Some(most_ns) = most_ns {
                    self.later(now_ns + most_ns, What::Expires { name: name.clone(), packet: number });
                }
                self.stores.held.entry(name).or_default().push(Held { frame, packet: number, altered });
            }
        }
        self.leave(now_ns, behind, Some(number), &mut out);
        self.release(now_ns, releases, &mut out);
        out
    }

    /// It is `now_ns`: what leaves now that was to leave by then.
    pub fn due(&mut self, now_ns: i64) -> Vec<Departure> {
        let mut out = Vec::new();
        while self.next_ns().is_some_and(|at_ns| at_ns <= now_ns) {
            let Some(Reverse(due)) = self.due.pop() else { break };
            match due.what {
                What::Leaves(leaving) => out.push(self.depart(now_ns, leaving)),
                What::Calls(rule) => self.call(now_ns, rule, &mut out),
                What::Expires { name, packet } => {
                    let waiting = self.stores.held.get_mut(&name);
                    let found = waiting.and_then(|held| {
                        let place = held.iter().position(|held| held.packet == packet)?;
                        Some(held.remove(place))
                    });
                    if let Some(held) = found {
                        out.push(self.depart(now_ns, held.into()));
                    }
                }
            }
        }
        out
    }

    /// The kernel did not take a packet.
    pub fn refused(&mut self, row: usize) {
        if let Event::Emitted(how) = self.rows[row].event {
            self.rows[row].event = Event::Refused(how);
        }
    }

    /// The end: what has been done. `missed_packets` never got here.
    pub fn finish(mut self, now_ns: i64, missed_packets: u64) -> InPathLog {
        let mut waiting: Vec<u32> = self.stores.held.values().flatten().map(|held| held.packet).collect();
        waiting.extend(self.due.iter().filter_map(|Reverse(due)| match &due.what {
            What::Leaves(leaving) if matches!(leaving.how, Emitted::Passed | Emitted::Altered) => {
                leaving.packet
            }
            _ => None,
        }));
        waiting.sort_unstable();
        self.rows.extend(waiting.into_iter().map(|packet| Row {
            t_ns: now_ns,
            event: Event::Waiting,
            packet: Some(packet),
            rule: None,
            towards: None,
            fingerprint: None,
        }));
        log::count(&self.rows, &mut self.counters);
        self.counters.missed_packets = missed_packets;
        self.counters.stopped_ns = now_ns;
        InPathLog { counters: self.counters, rows: self.rows }
    }

    fn parts(&mut self, packet: &[u8], headers: Option<&Headers>) -> Vec<Part> {
        let Some(headers) = headers else { return Vec::new() };
        let trackers = self.trackers.iter_mut().enumerate();
        trackers.flat_map(|(flow, tracker)| tracker.parts(flow, packet, headers)).collect()
    }

    /// The clock calls a rule.
    fn call(&mut self, now_ns: i64, index: u16, out: &mut Vec<Departure>) {
        let mut hand = Hand::new(None, &mut self.stores, &self.ethernet);
        let row = Row {
            t_ns: now_ns,
            event: Event::Matched,
            packet: None,
            rule: Some(index),
            towards: None,
            fingerprint: None,
        };
        self.rows.push(row);
        if !self.rules[usize::from(index)].action.act(&mut hand) {
            self.rows.push(Row { event: Event::Unfit, ..row });
        }
        let Hand { extra, releases, .. } = hand;
        self.leave(now_ns, extra.into_iter().map(|extra| (extra, index)).collect(), None, out);
        self.release(now_ns, releases, out);
    }

    fn leave(
        &mut self,
        now_ns: i64,
        extra: Vec<(Extra, u16)>,
        packet: Option<u32>,
        out: &mut Vec<Departure>,
    ) {
        for (Extra { frame, after_ns, copy, .. }, rule) in extra {
            let how = if copy { Emitted::Copied } else { Emitted::Inserted };
            self.leave_after(now_ns, after_ns, Leaving { frame, how, packet, rule: Some(rule) }, out);
        }
    }

    fn leave_after(&mut self, now_ns: i64, after_ns: i64, leaving: Leaving, out: &mut Vec<Departure>) {
        if after_ns == 0 {
            out.push(self.depart(now_ns, leaving));
        } else {
            self.later(now_ns + after_ns, What::Leaves(leaving));
        }
    }

    fn release(&mut self, now_ns: i64, releases: Vec<(String, Order)>, out: &mut Vec<Departure>) {
        for (name, order) in releases {
            let mut held = self.stores.held.remove(&name).unwrap_or_default();
            if order == Order::Reversed {
                held.reverse();
            }
            out.extend(held.into_iter().map(|held| self.depart(now_ns, held.into())));
        }
    }

    fn later(&mut self, at_ns: i64, what: What) {
        self.due.push(Reverse(Due { at_ns, order: self.scheduled, what }));
        self.scheduled += 1;
    }

    fn depart(&mut self, now_ns: i64, leaving: Leaving) -> Departure {
        let Leaving { frame, how, packet, rule } = leaving;
        let row = self.rows.len();
        self.rows.push(Row {
            t_ns: now_ns,
            event: Event::Emitted(how),
            packet,
            rule,
            towards: Some(frame.towards as u8),
            fingerprint: Some(Fingerprint::of(&frame.bytes)),
        });
        Departure { frame, row }
    }
}

impl From<Held> for Leaving {
    fn from(held: Held) -> Self {
        let how = if held.altered { Emitted::Altered } else { Emitted::Passed };
        Leaving { frame: held.frame, how, packet: Some(held.packet), rule: None }
    }
}

impl Rule {
    fn new(spec: &RuleSpec, names: &Names<'_>, random: impl Fn(&str) -> Random) -> Result<Rule, String> {
        let names = &Names { in_message: spec.conditions.contains_key(matchers::MESSAGE), ..*names };
        let (action, kind) = actions::build(&spec.deed, names, random("do"))?;
        let mut conditions = spec.conditions.clone();
        let at_ns = take_instant(&mut conditions)?;
        if at_ns.is_some() && !conditions.is_empty() {
            return Err("`match` has `at_s` beside other keys; the clock calls it, not a packet".into());
        }
        if at_ns.is_some() && !kind.without_packet {
            return Err(format!("`at_s` calls the action \"{}\", which needs a packet", kind.name));
        }
        let conditions = matchers::build(&conditions, names, &random)?;
        Ok(Rule { id: spec.id.clone(), conditions, action, at_ns })
    }
}

/// Refuses to take from a store that no rule fills: its name is wrong.
fn stores_are_filled(rules: &[Rule]) -> Result<(), String> {
    let stores = || rules.iter().filter_map(|rule| Some((rule, rule.action.store()?)));
    let names = |wanted: fn(&Store<'_>) -> bool| -> Vec<&str> {
        stores().map(|(_, store)| store).filter(wanted).map(Store::name).collect()
    };
    for (rule, needed) in stores() {
        let (filled, verb) = match needed {
            Store::TakesCaptured(_) => (names(|store| matches!(store, Store::Captures(_))), "captures"),
            Store::Releases(_) => (names(|store| matches!(store, Store::Holds(_))), "holds"),
            Store::Captures(_) | Store::Holds(_) => continue,
        };
        if !filled.contains(&needed.name()) {
            let known = if filled.is_empty() { "none".into() } else { filled.join(", ") };
            return Err(format!(
                "rule \"{}\": no rule of the node {verb} packets as \"{}\"; the names are: {known}",
                rule.id,
                needed.name()
            ));
        }
    }
    Ok(())
}

/// `at_s` is no condition for packets: the clock calls such a rule.
fn take_instant(conditions: &mut Map<String, Value>) -> Result<Option<i64>, String> {
    let Some(value) = conditions.remove(AT_S) else { return Ok(None) };
    match value.as_f64() {
        Some(at_s) if at_s.is_finite() && at_s >= 0.0 => Ok(Some(seconds_to_ns(at_s))),
        _ => Err(format!("`{AT_S}` is {value}; it must be an instant in seconds from the start of the run")),
    }
}

/// The key of rules that the clock calls.
pub(crate) const AT_S: &str = "at_s";

/// The same header the other way.
fn turned(ethernet: &[u8; ETHERNET_BYTES]) -> [u8; ETHERNET_BYTES] {
    let mut turned = *ethernet;
    turned[..6].copy_from_slice(&ethernet[6..12]);
    turned[6..12].copy_from_slice(&ethernet[..6]);
    turned
}

//! `hold`: the packet waits until `release` lets go what waits under the same name.

use serde::Deserialize;

use crate::in_path::action::{Action, Fate, Hand, Kind, Order, Store, duration_ns};

pub(super) const HOLD: Kind = Kind {
    name: "hold",
    parameters: &["as", "most_s"],
    without_packet: false,
    build: |params, _, _| {
        let HoldParams { name, most_s } = params.read()?;
        let most_ns = most_s.map(|most_s| duration_ns("most_s", most_s)).transpose()?;
        Ok(Box::new(Hold { name, most_ns }))
    },
};

#[derive(Deserialize)]
struct HoldParams {
    #[serde(rename = "as")]
    name: String,
    /// After which it leaves by itself.
    most_s: Option<f64>,
}

struct Hold {
    name: String,
    most_ns: Option<i64>,
}

impl Action for Hold {
    fn act(&mut self, hand: &mut Hand<'_>) -> bool {
        hand.fate = Fate::Held { name: self.name.clone(), most_ns: self.most_ns };
        true
    }

    fn store(&self) -> Option<Store<'_>> {
        Some(Store::Holds(&self.name))
    }
}

pub(super) const RELEASE: Kind = Kind {
    name: "release",
    parameters: &["from", "order"],
    without_packet: true,
    build: |params, _, _| params.read::<Release>().map(|release| Box::new(release) as Box<dyn Action>),
};

#[derive(Deserialize)]
struct Release {
    from: String,
    #[serde(default)]
    order: Order,
}

impl Action for Release {
    fn act(&mut self, hand: &mut Hand<'_>) -> bool {
        hand.releases.push((self.from.clone(), self.order));
        hand.stores.held.get(&self.from).is_some_and(|held| !held.is_empty())
    }

    fn store(&self) -> Option<Store<'_>> {
        Some(Store::Releases(&self.from))
    }
}

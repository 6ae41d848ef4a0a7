//! An in-path node as it is written in a plan (`docs/formats/plan.md`).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Error, NetworkSpec};

/// A node that stands in a link between two nodes of the network.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InPathSpec {
    /// Its name.
    pub node: String,
    /// The two nodes whose link it cuts.
    pub between: [String; 2],
    /// What it does, in order.
    #[serde(default)]
    pub rules: Vec<RuleSpec>,
}

/// One rule: which packets, and what is done with them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuleSpec {
    /// Its name, unique in its node.
    pub id: String,
    /// Conditions, all of which have to hold; none: every packet.
    #[serde(rename = "match", default)]
    pub conditions: Map<String, Value>,
    /// `action` names what is done; further keys are its parameters.
    #[serde(rename = "do")]
    pub deed: Map<String, Value>,
}

impl NetworkSpec {
    /// The same network, its preset expanded, with these nodes in the links that they cut. Nothing else is renamed or
    /// renumbered, and no route changes: such a node is an Ethernet to the two beside it.
    ///
    /// # Errors
    /// [`Error::Spec`]: there is no such link, the name is taken, or two cut the same link.
    pub fn with_in_path(&self, nodes: &[InPathSpec]) -> Result<NetworkSpec, Error> {
        if nodes.is_empty() {
            return Ok(self.clone());
        }
        let mut spec = self.expanded()?;
        for node in nodes {
            spec.cut(node)?;
        }
        Ok(spec)
    }

    fn cut(&mut self, node: &InPathSpec) -> Result<(), Error> {
        let InPathSpec { node: name, between: [a, b], .. } = node;
        let joins = |from: &str, to: &str| (from == a && to == b) || (from == b && to == a);
        let Some(link) = self.links.iter_mut().find(|link| joins(&link.a, &link.b)) else {
            let links: Vec<_> = self.links.iter().map(|link| format!("{} and {}", link.a, link.b)).collect();
            return Err(Error::Spec(format!(
                "in-path node \"{name}\": no link joins \"{a}\" to \"{b}\"; it can stand between {}",
                links.join(", ")
            )));
        };
        let mtu_bytes = link.mtu_bytes;
        // Each half begins at the node where the whole one did, so that its interface keeps its number.
        let far = std::mem::replace(&mut link.b, name.clone());
        self.links.push(crate::LinkSpec { a: name.clone(), b: far, mtu_bytes });
        for address in &mut self.addresses {
            if joins(&address.node, &address.link) {
                address.link.clone_from(name);
            }
        }
        self.nodes.push(crate::NodeSpec { name: name.clone(), switch: false, in_path: true });
        Ok(())
    }
}

//! Services as serde reads them, with the feature `serde`: from their names in [`names`].

use serde::{Deserialize, Deserializer, de};

use super::{
    AckReport, AckTiming, Congestion, FlowControl, Framing, LossCause, Management, Ordering, Paths,
    Protection, Reliability, names,
};

macro_rules! read_from_names {
    ($($service:ty: $table:ident),+ $(,)?) => {$(
        impl<'de> Deserialize<'de> for $service {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                read(names::$table, from)
            }
        }
    )+};
}

read_from_names! {
    Management: MANAGEMENT,
    FlowControl: FLOW_CONTROL,
    Congestion: CONGESTION,
    Ordering: ORDERING,
    Reliability: RELIABILITY,
    AckTiming: ACK_TIMING,
    AckReport: ACK_REPORT,
    Framing: FRAMING,
    Paths: PATHS,
    LossCause: LOSS_CAUSE,
    Protection: PROTECTION,
}

fn read<'de, T: Copy, D: Deserializer<'de>>(table: names::Table<T>, from: D) -> Result<T, D::Error> {
    let name = String::deserialize(from)?;
    names::find(table, &name).ok_or_else(|| {
        de::Error::custom(format_args!("`{name}` is no choice; choose one of {}", names::choices(table)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_is_read_from_its_name_and_a_strange_name_is_answered_with_the_choices() {
        for (name, ordering) in names::ORDERING {
            assert_eq!(serde_json::from_value::<Ordering>((*name).into()).ok(), Some(*ordering));
        }
        let wrong = serde_json::from_value::<Ordering>("sideways".into()).expect_err("there is no such one");
        assert_eq!(wrong.to_string(), "`sideways` is no choice; choose one of none, partial, full");
    }
}

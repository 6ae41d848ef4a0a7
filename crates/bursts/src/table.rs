//! Outcomes as lines of a table, written and read again.

use crate::grid::{Cell, Grid, Line};

/// One try of a transfer.
#[derive(Clone, Debug, PartialEq)]
pub struct Transfer {
    /// Who.
    pub stack: String,
    /// Over what, and how much.
    pub cell: Cell,
    /// With which seed.
    pub seed: u64,
    /// How long it took in seconds; `None` if the limit came first.
    pub seconds: Option<f64>,
}

impl Transfer {
    /// Names of the columns.
    pub const HEAD: &'static str = "stack,loss_percent,burst_packets,rtt_ms,size_bytes,seed,seconds";

    /// The line of a table.
    #[must_use]
    pub fn to_line(&self) -> String {
        let Line { loss_percent, burst_packets, rtt_ms } = self.cell.line;
        let seconds = self.seconds.map_or(String::new(), |seconds| format!("{seconds:.6}"));
        let (stack, size, seed) = (&self.stack, self.cell.size_bytes, self.seed);
        format!("{stack},{loss_percent},{burst_packets},{rtt_ms},{size},{seed},{seconds}")
    }

    /// Reads a line; `None` if it is not one, or none of the grid.
    #[must_use]
    pub fn from_line(text: &str, grid: &Grid) -> Option<Self> {
        let [stack, loss, burst, rtt, size, seed, seconds] =
            <[&str; 7]>::try_from(text.split(',').collect::<Vec<_>>()).ok()?;
        let line = line(loss, burst, rtt)?;
        let size_bytes: usize = size.parse().ok()?;
        let cell =
            grid.cells().into_iter().find(|cell| cell.line == line && cell.size_bytes == size_bytes)?;
        let seconds = if seconds.is_empty() { None } else { Some(seconds.parse().ok()?) };
        Some(Self { stack: stack.into(), cell, seed: seed.parse().ok()?, seconds })
    }
}

/// All tries of a flow of messages over one link.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// Who.
    pub stack: String,
    /// Over what.
    pub line: Line,
    /// Half of the messages took at most so long, in milliseconds; lost ones are infinite.
    pub p50_ms: f64,
    /// And so long 99 %.
    pub p99_ms: f64,
    /// Share that arrived at all, in percent.
    pub arrived_percent: f64,
}

impl Flow {
    /// Names of the columns.
    pub const HEAD: &'static str = "stack,loss_percent,burst_packets,rtt_ms,p50_ms,p99_ms,arrived_percent";

    /// Sums up the delays of all messages, in seconds.
    #[must_use]
    pub fn of(stack: &str, line: Line, mut delays_s: Vec<f64>) -> Self {
        delays_s.sort_by(f64::total_cmp);
        let at = |share: f64| {
            let place = (share * delays_s.len() as f64).ceil() as usize;
            delays_s.get(place.max(1) - 1).map_or(f64::INFINITY, |delay_s| delay_s * 1e3)
        };
        let arrived = delays_s.iter().filter(|delay_s| delay_s.is_finite()).count();
        let arrived_percent = 100.0 * arrived as f64 / delays_s.len().max(1) as f64;
        Self { stack: stack.into(), line, p50_ms: at(0.5), p99_ms: at(0.99), arrived_percent }
    }

    /// The line of a table.
    #[must_use]
    pub fn to_line(&self) -> String {
        let Line { loss_percent, burst_packets, rtt_ms } = self.line;
        format!(
            "{},{loss_percent},{burst_packets},{rtt_ms},{:.1},{:.1},{:.2}",
            self.stack, self.p50_ms, self.p99_ms, self.arrived_percent
        )
    }

    /// Reads a line; `None` if it is not one.
    #[must_use]
    pub fn from_line(text: &str) -> Option<Self> {
        let [stack, loss, burst, rtt, p50, p99, arrived] =
            <[&str; 7]>::try_from(text.split(',').collect::<Vec<_>>()).ok()?;
        Some(Self {
            stack: stack.into(),
            line: line(loss, burst, rtt)?,
            p50_ms: p50.parse().ok()?,
            p99_ms: p99.parse().ok()?,
            arrived_percent: arrived.parse().ok()?,
        })
    }
}

fn line(loss: &str, burst: &str, rtt: &str) -> Option<Line> {
    Some(Line {
        loss_percent: loss.parse().ok()?,
        burst_packets: burst.parse().ok()?,
        rtt_ms: rtt.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_they_were_written() {
        let grid = Grid::registered();
        let cell = grid.cells()[100];
        for seconds in [Some(1.25), None] {
            let transfer = Transfer { stack: "quinn-bbr".into(), cell, seed: 3, seconds };
            assert_eq!(Transfer::from_line(&transfer.to_line(), &grid), Some(transfer));
        }
        assert_eq!(Transfer::from_line(Transfer::HEAD, &grid), None);
    }

    #[test]
    fn what_did_not_arrive_counts_as_later_than_everything() {
        let line = Grid::registered().lines()[0];
        let mut delays_s = vec![0.1; 97];
        delays_s.resize(100, f64::INFINITY);
        let flow = Flow::of("udp", line, delays_s);
        assert_eq!((flow.p50_ms, flow.p99_ms, flow.arrived_percent), (100.0, f64::INFINITY, 97.0));
        assert_eq!(Flow::from_line(&flow.to_line()), Some(flow));
    }
}

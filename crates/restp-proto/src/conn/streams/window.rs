//! What one end lets the other do: bytes of a stream, bytes of all streams, or streams.

/// A limit that moves on with what was consumed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    /// What the peer may reach.
    limit: u64,
    /// What it has reached.
    used: u64,
    /// What was consumed of it.
    consumed: u64,
    /// What may be open between the two.
    width: u64,
}

impl Window {
    /// `limit` is what the peer assumes before it is told otherwise.
    pub fn new(limit: u64, width: u64) -> Self {
        Self { limit, used: 0, consumed: 0, width: width.max(limit) }
    }

    pub fn used(&self) -> u64 {
        self.used
    }

    /// The peer went on by `amount`; `false` if that was not allowed.
    #[must_use]
    // R-STR-6
    pub fn use_up(&mut self, amount: u64) -> bool {
        let fits = amount <= self.limit - self.used;
        if fits {
            self.used += amount;
        }
        fits
    }

    pub fn consume(&mut self, amount: u64) {
        self.consumed += amount;
    }

    /// Everything that was used up is consumed; returns by how much.
    pub fn consume_all(&mut self) -> u64 {
        let rest = self.used - self.consumed;
        self.consumed = self.used;
        rest
    }

    /// Half of the width, or more, is not announced.
    // R-STR-7
    pub fn is_due(&self) -> bool {
        self.consumed + self.width >= self.limit + self.width / 2
    }

    /// The new limit.
    pub fn renew(&mut self) -> u64 {
        self.limit = self.limit.max(self.consumed + self.width);
        self.limit
    }
}

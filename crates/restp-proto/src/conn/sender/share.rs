//! How many of the packets of late were lost.

/// Packets after which the older ones count half.
const MEMORY_PACKETS: u32 = 256;
/// Packets that must have been seen before their losses say anything.
const LEAST_PACKETS: u32 = 16;

/// Packets delivered and lost, the older ones fading.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LossShare {
    delivered: u32,
    lost: u32,
}

impl LossShare {
    pub fn on_delivered(&mut self) {
        self.delivered += 1;
        self.fade();
    }

    pub fn on_lost(&mut self) {
        self.lost += 1;
        self.fade();
    }

    fn fade(&mut self) {
        if self.delivered + self.lost >= MEMORY_PACKETS * 2 {
            self.delivered /= 2;
            self.lost /= 2;
        }
    }

    /// From 0 to 1; 0 while there is too little to tell.
    pub fn get(self) -> f64 {
        let seen = self.delivered + self.lost;
        if seen < LEAST_PACKETS { 0.0 } else { f64::from(self.lost) / f64::from(seen) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_packets_say_nothing_and_old_ones_fade() {
        let mut share = LossShare::default();
        (0..LEAST_PACKETS - 1).for_each(|_| share.on_lost());
        assert_eq!(share.get(), 0.0);
        share.on_delivered();
        assert!(share.get() > 0.9);
        (0..MEMORY_PACKETS * 20).for_each(|_| share.on_delivered());
        assert_eq!(share.get(), 0.0);
        for _ in 0..1000 {
            share.on_delivered();
            share.on_delivered();
            share.on_delivered();
            share.on_lost();
        }
        assert!((share.get() - 0.25).abs() < 0.01, "{}", share.get());
    }
}

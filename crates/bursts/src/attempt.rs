//! One try of a stack, and the messages that it carries.

use restp_sim::LinkConfig;

/// One try of one stack: its link, its seed.
#[derive(Clone, Debug)]
pub struct Try {
    /// Either direction of the link.
    pub link: LinkConfig,
    /// Seed of losses, and of everything else that is drawn.
    pub seed: u64,
}

/// The message `number` as it travels: its number, then noise.
pub(crate) fn message(number: usize, size_bytes: usize) -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..size_bytes).map(|place| restp_sim::pair::pattern(number + place)).collect();
    bytes[..8].copy_from_slice(&(number as u64).to_be_bytes());
    bytes
}

/// The number that a message carries.
pub(crate) fn message_number(bytes: &[u8]) -> Option<usize> {
    let head = bytes.get(..8)?;
    usize::try_from(u64::from_be_bytes(head.try_into().ok()?)).ok()
}

//! What is sent: zeros, of which one block serves all.

use msquic::BufferRef;

static BLOCK: [u8; 65536] = [0; 65536];

/// So many zeros, in pieces of at most a block.
pub fn zeros(size_bytes: u64) -> impl Iterator<Item = BufferRef> {
    let block_bytes = BLOCK.len() as u64;
    let rest = (size_bytes % block_bytes) as usize;
    let whole = (0..size_bytes / block_bytes).map(|_| BufferRef::from(BLOCK.as_slice()));
    whole.chain((rest > 0).then(|| BufferRef::from(&BLOCK[..rest])))
}

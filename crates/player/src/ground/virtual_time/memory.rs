//! How this program gets its memory: in few large pieces, each ready to be written.
//!
//! The first write to a page of memory stops the host's process that plays this program and hands over to the guest's
//! kernel four times: some 50 microseconds, as long as copying 500 packets' headers. Asked for in one go, a page
//! costs about one.

use nix::sys::mman::{MlockAllFlags, mlockall, munlockall};

use crate::failure::{Failure, Result};

/// By how much the heap grows at least.
const HEAP_STEP_BYTES: libc::c_int = 1 << 20;

/// Stack of a thread, all of which is there at once: a quarter of Rust's usual one.
const STACK_BYTES: &str = "524288";

/// Of so many flows the stacks and buffers of all threads are more pieces of the guest's memory than the host maps for
/// one process (vm.max_map_count, 65,530 usually), and most of each is never written.
const MANY_FLOWS: usize = 500;

const PAGE_BYTES: usize = 4096;

/// What a thread of a flow writes of its stack, nearly all of it.
const WRITTEN_STACK_BYTES: usize = 1 << 15;

/// From this size on what such a run asks for is mapped by itself, and not zeroed again where it was used before.
const MAPPED_BYTES: libc::c_int = 1 << 17;

/// Of the heap, that a flow takes: what TLS keeps of a session at both ends, nearly all of it.
const HEAP_OF_A_FLOW_BYTES: usize = 96 << 10;

/// Has memory that is mapped from now on be there at once, and all threads share one heap, which grows in large steps.
///
/// To be called before the first thread starts.
pub(super) fn get_in_large_pieces() -> Result<()> {
    // SAFETY: there is no other thread that could read the environment or allocate memory, and the allocator takes any
    // number.
    unsafe {
        std::env::set_var("RUST_MIN_STACK", STACK_BYTES);
        // One heap a thread, the default, grows by a page or two; threads of a guest never run at the same time.
        libc::mallopt(libc::M_ARENA_MAX, 1);
        libc::mallopt(libc::M_TOP_PAD, HEAP_STEP_BYTES);
    }
    mlockall(MlockAllFlags::MCL_FUTURE)
        .map_err(|error| Failure::new(format!("could not have memory at once: {}", error.desc())))
}

/// Has memory of a run of so many flows come as it is written, if they are many, and their heap before, while it comes in
/// large pieces.
pub(super) fn suit(flows: usize) -> Result<()> {
    if flows <= MANY_FLOWS {
        return Ok(());
    }
    // SAFETY: the allocator takes any number.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, MAPPED_BYTES);
        libc::mallopt(libc::M_TRIM_THRESHOLD, libc::c_int::MAX);
    }
    let heap: Vec<Vec<u8>> = (0..flows).map(|_| Vec::with_capacity(HEAP_OF_A_FLOW_BYTES)).collect();
    drop(std::hint::black_box(heap));
    munlockall()
        .map_err(|error| Failure::new(format!("could not have memory as it is written: {}", error.desc())))
}

/// Has the part of the calling thread's stack that is written soon come in one piece, from below. Written from above, as
/// stacks are, every page would be a piece of its own.
pub(super) fn lay_the_stack() {
    let here = 0_u8;
    let top = (&raw const here).addr() & !(PAGE_BYTES - 1);
    let bottom = std::ptr::without_provenance_mut::<libc::c_void>(top - WRITTEN_STACK_BYTES);
    // SAFETY: this is the calling thread's stack, which is larger (`STACK_BYTES`), and its content stays as it is. A
    // refusal changes nothing.
    unsafe { libc::madvise(bottom, WRITTEN_STACK_BYTES, libc::MADV_POPULATE_WRITE) };
}

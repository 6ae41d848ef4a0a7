//! How this program gets its memory: in few large pieces, each ready to be written.
//!
//! The first write to a page of memory stops the host's process that plays this program and hands over to the guest's
//! kernel four times: some 50 microseconds, as long as copying 500 packets' headers. Asked for in one go, a page
//! costs about one.

use nix::sys::mman::{MlockAllFlags, mlockall};

use crate::failure::{Failure, Result};

/// By how much the heap grows at least.
const HEAP_STEP_BYTES: libc::c_int = 1 << 20;

/// Stack of a thread, all of which is there at once: a quarter of Rust's usual one.
const STACK_BYTES: &str = "524288";

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

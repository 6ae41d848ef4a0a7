//! Handlers of signals: what they look at in the frame that interrupted a thread, and how they fill the registers.

use std::cell::Cell;
use std::ptr::null;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{LazyLock, Mutex, OnceLock};

use libc::{c_int, c_void, siginfo_t, ucontext_t};

use crate::block::{self, AFRESH, Call};
use crate::image::{Image, LAYOUT};

/// The two magic numbers of a signal frame with an extended state (Linux, `asm/sigcontext.h`).
const MAGIC1: u32 = 0x4650_5853;
const MAGIC2: u32 = 0x4650_5845;

/// Where a frame says what it holds.
const SOFTWARE_BYTES: usize = 464;

/// How large a state the kernel was told to put into frames; else what the processor has.
pub static FRAME_SIZE: OnceLock<usize> = OnceLock::new();

/// What handlers fill the registers with.
static CLOBBER: LazyLock<Box<Image>> = LazyLock::new(|| Image::pattern(0xC10B));
static NESTED: LazyLock<Box<Image>> = LazyLock::new(|| Image::pattern(0x2E57));

/// Handlers called so far, and what the first of them found wrong.
static CALLED: AtomicU64 = AtomicU64::new(0);
static WRONG: Mutex<Option<String>> = Mutex::new(None);

thread_local! {
    /// What the interrupted thread's registers hold.
    static EXPECTED: Cell<*const Image> = const { Cell::new(null()) };
}

/// A handler.
pub type Handler = extern "C" fn(c_int, *mut siginfo_t, *mut c_void);

/// Have `handler` called for a signal.
pub fn handle(signal: c_int, handler: Handler, flags: c_int) {
    // The patterns are made here and not in a handler.
    LazyLock::force(&CLOBBER);
    LazyLock::force(&NESTED);
    // SAFETY: the structure is filled in as sigaction(2) has it; the handlers below allocate, which they may because
    // what they interrupt is assembly that does not.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as usize;
        action.sa_flags = libc::SA_SIGINFO | flags;
        assert_eq!(libc::sigaction(signal, &raw const action, std::ptr::null_mut()), 0);
    }
}

/// Run a block of calls in which handlers look for `pattern`.
pub fn run_watched(pattern: &Image, calls: &mut [Call], rounds: u64) -> Box<Image> {
    EXPECTED.set(pattern);
    let found = block::run(pattern, calls, rounds);
    EXPECTED.set(null());
    found
}

/// How many handlers have been called, or what one of them found wrong.
pub fn called() -> Result<u64, String> {
    match WRONG.lock().expect("no handler panics").take() {
        Some(reason) => Err(reason),
        None => Ok(CALLED.load(Ordering::Relaxed)),
    }
}

/// Looks at its frame and fills all registers.
pub extern "C" fn clobbering(_signal: c_int, _info: *mut siginfo_t, context: *mut c_void) {
    look(context);
    block::clobber(&CLOBBER);
}

/// As `clobbering`, and is interrupted itself by SIGUSR2.
pub extern "C" fn interrupted(_signal: c_int, _info: *mut siginfo_t, context: *mut c_void) {
    look(context);
    let outer = EXPECTED.get();
    let found = run_watched(&NESTED, &mut [send(thread_id(), libc::SIGUSR2)], 1);
    EXPECTED.set(outer);
    if let Some(difference) = NESTED.difference(&found) {
        wrong(format!("in a handler that was interrupted, {difference}"));
    }
    block::clobber(&CLOBBER);
}

/// Writes another value into xmm5 of what it interrupted.
pub extern "C" fn changing(_signal: c_int, _info: *mut siginfo_t, context: *mut c_void) {
    let context = context.cast::<ucontext_t>();
    // SAFETY: the kernel passes a frame with an extended state, whose legacy part has xmm5 here.
    unsafe {
        let state = (*context).uc_mcontext.fpregs.cast::<u8>();
        state.add(160 + 16 * 5).write_bytes(CHANGED, 16);
    }
    block::clobber(&CLOBBER);
}

/// What `changing` writes to each byte of xmm5.
pub const CHANGED: u8 = 0x5a;

/// Makes the page that was written to writable.
pub extern "C" fn unprotecting(_signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    look(context);
    // SAFETY: SIGSEGV comes with an address, which belongs to a page of the check that asked for this handler.
    unsafe {
        let page = (*info).si_addr() as usize & !0xfff;
        libc::mprotect(page as *mut c_void, 4096, libc::PROT_READ | libc::PROT_WRITE);
    }
    block::clobber(&CLOBBER);
}

/// The call that sends a signal to a thread of this process.
pub fn send(thread: u64, signal: c_int) -> Call {
    Call::new(libc::SYS_tgkill, &[u64::from(std::process::id()), thread, signal as u64])
}

/// This thread's number.
pub fn thread_id() -> u64 {
    // SAFETY: gettid has no arguments and cannot fail.
    unsafe { libc::gettid() as u64 }
}

fn wrong(reason: String) {
    WRONG.lock().expect("no handler panics").get_or_insert(reason);
}

/// The handler must start afresh, and its frame hold what it interrupted.
fn look(context: *mut c_void) {
    CALLED.fetch_add(1, Ordering::Relaxed);
    let words = block::control_words();
    if words != AFRESH {
        wrong(format!("a handler starts with control words {words:x?}, not {AFRESH:x?}"));
    }
    // SAFETY: the kernel passes a frame; it lives as long as the handler.
    let state = unsafe { (*context.cast::<ucontext_t>()).uc_mcontext.fpregs.cast::<u8>() };
    if let Err(reason) = look_at_frame(state) {
        wrong(format!("in a signal frame, {reason}"));
    }
}

fn look_at_frame(state: *const u8) -> Result<(), String> {
    if !(state as usize).is_multiple_of(64) {
        return Err(format!("the extended state lies at {state:p}, which is no multiple of 64"));
    }
    // SAFETY: every frame has the legacy 512 bytes.
    let software = |at: usize| unsafe { state.add(SOFTWARE_BYTES + at).cast::<u32>().read_unaligned() };
    let (magic1, total, size) = (software(0), software(4) as usize, software(16) as usize);
    let components = u64::from(software(8)) | u64::from(software(12)) << 32;
    let wanted = *FRAME_SIZE.get().unwrap_or(&LAYOUT.frame_size);
    if (magic1, size, total) != (MAGIC1, wanted, wanted + 4) {
        return Err(format!(
            "magic, size and size with trailer are {magic1:#x}, {size}, {total}; not {wanted}"
        ));
    }
    if components != LAYOUT.frame_components() {
        return Err(format!("the components are {components:#x}, not {:#x}", LAYOUT.frame_components()));
    }
    // SAFETY: the frame says that so many bytes and a magic number follow, and the size is the expected one.
    let magic2 = unsafe { state.add(size).cast::<u32>().read_unaligned() };
    if magic2 != MAGIC2 {
        return Err(format!("the second magic number is {magic2:#x}"));
    }
    // SAFETY: a pointer in EXPECTED is to the image that the interrupted function has borrowed.
    if let Some(expected) = unsafe { EXPECTED.get().as_ref() } {
        let mut image = Image::empty();
        // SAFETY: as above; an image is larger than any frame that was expected.
        unsafe { std::ptr::copy_nonoverlapping(state, image.0.as_mut_ptr(), size) };
        if let Some(difference) = expected.difference(&image) {
            return Err(difference);
        }
    }
    Ok(())
}

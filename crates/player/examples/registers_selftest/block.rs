//! Loads every register, makes system calls in a row without any compiled code in between, and stores every register:
//! so whatever differs afterwards was changed by the kernel.

use std::arch::asm;

use crate::image::{Image, LAYOUT};

/// In place of a system call's number: write a byte to the address in the first argument.
const TOUCH: u64 = u64::MAX;

/// A system call; the layout is known to the assembly below.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Call {
    number: u64,
    arguments: [u64; 6],
    /// What it returned.
    pub result: i64,
}

impl Call {
    /// A system call with its first arguments.
    pub fn new(number: libc::c_long, arguments: &[u64]) -> Self {
        let mut all = [0; 6];
        all[..arguments.len()].copy_from_slice(arguments);
        Self { number: number as u64, arguments: all, result: 0 }
    }

    /// Write to a page, which faults where it is not there or not writable.
    pub fn touch(address: *mut u8) -> Self {
        Self { number: TOUCH, arguments: [address as u64, 1, 0, 0, 0, 0], result: 0 }
    }
}

/// What the child of a `vfork` does, on its parent's stack: look at its registers, load others, and make calls of
/// which the last does not return.
pub struct Child<'a> {
    /// Its registers when it began.
    pub found: Box<Image>,
    /// What it fills them with.
    pub clobber: Box<Image>,
    /// Its calls.
    pub calls: &'a mut [Call],
}

/// Addresses for the assembly.
#[repr(C)]
struct Block {
    mask: u64,
    caller: *mut Image,
    pattern: *const Image,
    found: *mut Image,
    calls: *mut Call,
    count: u64,
    rounds: u64,
    child_found: *mut Image,
    child_clobber: *const Image,
    child_calls: *mut Call,
}

/// Fill the registers with `pattern`, make `calls` that many times over, and return what the registers hold then.
pub fn run(pattern: &Image, calls: &mut [Call], rounds: u64) -> Box<Image> {
    play(pattern, calls, rounds, None)
}

/// As `run`, once; among the calls is a `vfork`, and `child` says what its child does.
pub fn run_with_child(pattern: &Image, calls: &mut [Call], child: &mut Child<'_>) -> Box<Image> {
    play(pattern, calls, 1, Some(child))
}

fn play(pattern: &Image, calls: &mut [Call], rounds: u64, child: Option<&mut Child<'_>>) -> Box<Image> {
    let (mut caller, mut found) = (Image::empty(), Image::empty());
    let mut block = Block {
        mask: LAYOUT.mask,
        caller: &raw mut *caller,
        pattern,
        found: &raw mut *found,
        calls: calls.as_mut_ptr(),
        count: calls.len() as u64,
        rounds,
        child_found: std::ptr::null_mut(),
        child_clobber: std::ptr::null(),
        child_calls: std::ptr::null_mut(),
    };
    if let Some(child) = child {
        block.child_found = &raw mut *child.found;
        block.child_clobber = &raw const *child.clobber;
        block.child_calls = child.calls.as_mut_ptr();
    }
    // SAFETY: the block points to live images, aligned to 64 bytes and larger than the state, and to `count` calls.
    // Every register that is written is either named here or restored from `caller` at the end. A child of `vfork`
    // never leaves the assembly.
    unsafe {
        asm!(
            "mov eax, [r12]",
            "mov edx, [r12 + 4]",
            "mov rcx, [r12 + 8]",
            "xsave64 [rcx]",
            "mov rcx, [r12 + 16]",
            "xrstor64 [rcx]",
            "2:",
            "mov r13, [r12 + 32]",
            "mov r14, [r12 + 40]",
            "3:",
            "mov rax, [r13]",
            "mov rdi, [r13 + 8]",
            "mov rsi, [r13 + 16]",
            "mov rdx, [r13 + 24]",
            "mov r10, [r13 + 32]",
            "mov r8, [r13 + 40]",
            "mov r9, [r13 + 48]",
            "cmp rax, -1",
            "je 5f",
            "syscall",
            "mov [r13 + 56], rax",
            "test rax, rax",
            "jnz 4f",
            "cmp qword ptr [r13], {vfork}",
            "je 6f",
            "4:",
            "add r13, 64",
            "dec r14",
            "jnz 3b",
            "dec qword ptr [r12 + 48]",
            "jnz 2b",
            "mov eax, [r12]",
            "mov edx, [r12 + 4]",
            "mov rcx, [r12 + 24]",
            "xsave64 [rcx]",
            "mov rcx, [r12 + 8]",
            "xrstor64 [rcx]",
            "jmp 8f",
            "5:",
            "mov byte ptr [rdi], sil",
            "jmp 4b",
            "6:",
            "mov eax, [r12]",
            "mov edx, [r12 + 4]",
            "mov rcx, [r12 + 56]",
            "xsave64 [rcx]",
            "mov rcx, [r12 + 64]",
            "xrstor64 [rcx]",
            "mov r13, [r12 + 72]",
            "7:",
            "mov rax, [r13]",
            "mov rdi, [r13 + 8]",
            "mov rsi, [r13 + 16]",
            "mov rdx, [r13 + 24]",
            "syscall",
            "add r13, 64",
            "jmp 7b",
            "8:",
            vfork = const libc::SYS_vfork,
            in("r12") &raw mut block,
            out("rax") _, out("rcx") _, out("rdx") _, out("rdi") _, out("rsi") _, out("r8") _,
            out("r9") _, out("r10") _, out("r11") _, out("r13") _, out("r14") _,
        );
    }
    found
}

/// Fill the registers and leave them so: for handlers of signals, whose registers end with them.
pub fn clobber(pattern: &Image) {
    // SAFETY: the image is aligned and larger than the state. The caller makes no use of such registers afterwards.
    unsafe {
        asm!("xrstor64 [{}]", in(reg) &raw const *pattern, in("eax") LAYOUT.mask as u32,
             in("edx") (LAYOUT.mask >> 32) as u32, options(nostack));
    }
}

/// The control words of the x87 and of SSE, and which x87 registers hold something.
pub fn control_words() -> (u16, u32, u8) {
    let mut state = Image::empty();
    // SAFETY: `fxsave64` writes 512 bytes to an aligned image that is larger.
    unsafe { asm!("fxsave64 [{}]", in(reg) &raw mut *state, options(nostack)) };
    let bytes = &state.0;
    (
        u16::from_le_bytes([bytes[0], bytes[1]]),
        u32::from_le_bytes([bytes[24], bytes[25], bytes[26], bytes[27]]),
        bytes[4],
    )
}

/// The control words that a program, and a handler of a signal, starts with (System V ABI, AMD64 supplement, 3.4.1).
pub const AFRESH: (u16, u32, u8) = (0x37f, 0x1f80, 0);

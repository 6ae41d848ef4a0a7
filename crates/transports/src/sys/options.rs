//! Socket options whose value is a C structure.

use std::io;
use std::mem::{MaybeUninit, size_of};
use std::os::fd::{AsRawFd, BorrowedFd};

use socket2::SockAddr;

/// A C structure of which every bit pattern is a valid value.
///
/// # Safety
/// The type must be `repr(C)` and hold only integers and arrays of integers, so that bytes that the kernel
/// does not fill may be zero.
pub(crate) unsafe trait Plain: Sized {
    /// The value whose bytes are all zero.
    fn zeroed() -> Self {
        // SAFETY: all-zero bytes are a valid value, as the trait demands.
        unsafe { MaybeUninit::zeroed().assume_init() }
    }

    /// The value that begins with these bytes; those that are missing are zero, further ones are left out.
    fn begins_with(bytes: &[u8]) -> Self {
        let mut value = Self::zeroed();
        let length = bytes.len().min(size_of::<Self>());
        // SAFETY: both are readable or writable for `length` bytes, and any bytes are a valid value.
        unsafe { (&raw mut value).cast::<u8>().copy_from_nonoverlapping(bytes.as_ptr(), length) };
        value
    }
}

// SAFETY: integers.
unsafe impl Plain for libc::c_int {}

/// Reads an option. `value` is given to the kernel as it is (some options read it) and then overwritten; bytes
/// that an older kernel does not know stay as they were. Returns the number of bytes that the kernel wrote.
pub(crate) fn get<T: Plain>(
    fd: BorrowedFd<'_>,
    level: libc::c_int,
    name: libc::c_int,
    value: &mut T,
) -> io::Result<usize> {
    let mut length = size_of::<T>() as libc::socklen_t;
    // SAFETY: `value` is `length` bytes long and may take any bytes (`Plain`).
    let status =
        unsafe { libc::getsockopt(fd.as_raw_fd(), level, name, (&raw mut *value).cast(), &mut length) };
    if status == 0 { Ok(length as usize) } else { Err(io::Error::last_os_error()) }
}

/// Sets an option.
pub(crate) fn set<T: Plain>(
    fd: BorrowedFd<'_>,
    level: libc::c_int,
    name: libc::c_int,
    value: &T,
) -> io::Result<()> {
    // SAFETY: `value` is readable for its size.
    let status = unsafe {
        libc::setsockopt(
            fd.as_raw_fd(),
            level,
            name,
            (&raw const *value).cast(),
            size_of::<T>() as libc::socklen_t,
        )
    };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Sets an option whose value is a socket address.
pub(crate) fn add_address(
    fd: BorrowedFd<'_>,
    level: libc::c_int,
    name: libc::c_int,
    address: &SockAddr,
) -> io::Result<()> {
    // SAFETY: the address is readable for its length.
    let status =
        unsafe { libc::setsockopt(fd.as_raw_fd(), level, name, address.as_ptr().cast(), address.len()) };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Switches a yes-or-no option on.
pub(crate) fn enable(fd: BorrowedFd<'_>, level: libc::c_int, name: libc::c_int) -> io::Result<()> {
    set(fd, level, name, &1)
}

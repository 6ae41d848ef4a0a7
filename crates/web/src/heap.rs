//! What the program has on its heap, counted where it is allocated.
//!
//! The server's main program has it as its allocator. Kernel memory (sockets, queues) is not in it, nor is what the
//! system's allocator keeps beside what was asked of it.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The system's allocator with counters.
pub struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

/// Octets that are allocated now. Zero in a program that has another allocator.
pub fn now_octets() -> usize {
    NOW.load(Ordering::Relaxed)
}

/// Most octets that were allocated at a time.
pub fn peak_octets() -> usize {
    PEAK.load(Ordering::Relaxed)
}

fn more(octets: usize) {
    let now = NOW.fetch_add(octets, Ordering::Relaxed) + octets;
    PEAK.fetch_max(now, Ordering::Relaxed);
}

fn less(octets: usize) {
    NOW.fetch_sub(octets, Ordering::Relaxed);
}

// SAFETY: all four hand over to the system's allocator what they were given, and return what it returned.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the same contract.
        let place = unsafe { System.alloc(layout) };
        if !place.is_null() {
            more(layout.size());
        }
        place
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the same contract.
        let place = unsafe { System.alloc_zeroed(layout) };
        if !place.is_null() {
            more(layout.size());
        }
        place
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the same contract, and every place came from the system's allocator.
        unsafe { System.dealloc(place, layout) };
        less(layout.size());
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller keeps the same contract, and every place came from the system's allocator.
        let new = unsafe { System.realloc(place, layout, size) };
        if !new.is_null() {
            less(layout.size());
            more(size);
        }
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Other tests run beside this one, but none of them has the counting allocator.
    #[test]
    fn what_is_allocated_is_counted_until_it_is_freed() {
        let layout = Layout::from_size_align(1000, 8).expect("a sound layout");
        let larger = Layout::from_size_align(4000, 8).expect("a sound layout");
        // SAFETY: the place is used by nobody, grown once and freed once with the layout that it then has.
        unsafe {
            let place = Counting.alloc_zeroed(layout);
            assert_eq!(now_octets(), 1000);
            let place = Counting.realloc(place, layout, larger.size());
            assert_eq!(now_octets(), 4000);
            Counting.dealloc(place, larger);
        }
        assert_eq!((now_octets(), peak_octets()), (0, 4000));
    }
}

//! What an idle connection costs: every byte that was allocated and not given back.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicIsize, Ordering};

use restp::{Composition, Connection, Endpoint, Profile};

const PORT: u16 = 7;
/// Connections that pay for what all share.
const FIRST: usize = 50;
/// Connections that are counted.
const COUNTED: usize = 1000;
/// What it may take at each end, whatever its profile.
const MOST_BYTES: isize = 2500;

/// The system's allocator, with a count of the bytes that are in use.
struct Counting;

static IN_USE: AtomicIsize = AtomicIsize::new(0);

// SAFETY: every call goes to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        IN_USE.fetch_add(layout.size() as isize, Ordering::Relaxed);
        // SAFETY: the caller keeps the same promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        IN_USE.fetch_sub(layout.size() as isize, Ordering::Relaxed);
        // SAFETY: the caller keeps the same promises.
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Opens connections, each of which has carried a message in both directions, and keeps them.
async fn open(
    count: usize,
    held: &mut Vec<Connection>,
    client: &Endpoint,
    server: &Endpoint,
    composition: &Composition,
) {
    let listener = server.listen(PORT, composition).unwrap();
    for _ in 0..count {
        let connecting = client.connect(server.local_addr(), PORT, composition);
        let (one, other) = tokio::try_join!(connecting, listener.accept()).unwrap();
        for (from, to) in [(&one, &other), (&other, &one)] {
            from.send(vec![7; 160]).await.unwrap();
            to.recv().await.unwrap().expect("a message");
        }
        held.extend([one, other]);
    }
}

#[tokio::test(flavor = "current_thread")]
async fn an_idle_connection_takes_little_memory_at_each_end() {
    for profile in [Profile::file_arq(), Profile::web_opt(), Profile::voice()] {
        let composition = profile.validate().unwrap();
        let server = Endpoint::bind("127.0.0.1:0").await.unwrap();
        let client = Endpoint::bind("127.0.0.1:0").await.unwrap();
        let mut held = Vec::with_capacity(2 * (FIRST + COUNTED));
        open(FIRST, &mut held, &client, &server, &composition).await;
        let before = IN_USE.load(Ordering::Relaxed);
        open(COUNTED, &mut held, &client, &server, &composition).await;
        let each = (IN_USE.load(Ordering::Relaxed) - before) / (2 * COUNTED as isize);
        let name = &composition.profile().name;
        println!("{name}: {each} bytes");
        assert!(each <= MOST_BYTES, "{name}: {each} bytes");
    }
}

//! Sessions of a receiver that remembers no ticket as used. rustls gives each out once, so that nobody has data of a first
//! flight taken twice (RFC 8446, section 8.1); a receiver without a memory for that does what this one does.

use std::sync::Arc;

use rustls::server::{ServerSessionMemoryCache, StoresServerSessions};

/// Sessions that are kept, as many as rustls keeps by itself.
const REMEMBERED_SESSIONS: usize = 256;

#[derive(Debug)]
pub(super) struct KeptSessions(Arc<ServerSessionMemoryCache>);

impl Default for KeptSessions {
    fn default() -> Self {
        Self(ServerSessionMemoryCache::new(REMEMBERED_SESSIONS))
    }
}

impl StoresServerSessions for KeptSessions {
    fn put(&self, key: Vec<u8>, value: Vec<u8>) -> bool {
        self.0.put(key, value)
    }

    fn get(&self, key: &[u8]) -> Option<Vec<u8>> {
        self.0.get(key)
    }

    fn take(&self, key: &[u8]) -> Option<Vec<u8>> {
        self.0.get(key)
    }

    fn can_cache(&self) -> bool {
        self.0.can_cache()
    }
}

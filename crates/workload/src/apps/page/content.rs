//! What a page consists of, and the bytes of its objects.

use bytes::Bytes;
use serde::Deserialize;

use crate::payload::{Outbox, Payload};

/// The pattern of the objects repeats with this size, the payload of one segment; it has no meaning beyond that.
const PIECE_BYTES: u32 = 1448;

/// Tells the bytes of pages from those of other applications.
const SALT: u64 = 0x0b1e_c700;

/// Most bytes that a body hands to its HTTP library at once.
const CHUNK_BYTES: u64 = 1 << 16;

/// One object: a file of the page.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Object {
    /// What it is called.
    #[serde(rename = "object")]
    pub(super) name: String,
    /// Its length.
    pub(super) size_bytes: u64,
    /// The number of the object that names it, which comes before it; of the first, which nothing names, 0.
    #[serde(default)]
    pub(super) after: usize,
    /// The number of the origin that it comes from. Each has connections of its own.
    #[serde(default)]
    pub(super) origin: usize,
}

impl Object {
    /// Whether it comes from the first origin, and the first object names it.
    pub(super) fn is_flat(&self) -> bool {
        (self.after, self.origin) == (0, 0)
    }
}

/// A page: the objects stand one after the other in one long pattern that follows from the seed.
pub(super) struct Page {
    objects: Vec<Object>,
    offsets: Vec<u64>,
    payload: Payload,
}

impl Page {
    /// A page of these objects.
    pub(super) fn new(objects: Vec<Object>, seed: u64) -> Self {
        let offsets = objects
            .iter()
            .scan(0, |end, object| {
                let start = *end;
                *end += object.size_bytes;
                Some(start)
            })
            .collect();
        Self { objects, offsets, payload: Payload::new(seed ^ SALT, PIECE_BYTES) }
    }

    /// How many objects it has.
    pub(super) fn len(&self) -> usize {
        self.objects.len()
    }

    /// One of them.
    pub(super) fn object(&self, index: usize) -> &Object {
        &self.objects[index]
    }

    /// The path under which an object is asked for: its number and its name.
    pub(super) fn path(&self, index: usize) -> String {
        let mut path = format!("/{index}/");
        for byte in self.objects[index].name.bytes() {
            if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
                path.push(char::from(byte));
            } else {
                path.push_str(&format!("%{byte:02X}"));
            }
        }
        path
    }

    /// The object that is asked for under a path.
    pub(super) fn asked_for(&self, path: &str) -> Option<usize> {
        let index = path.split('/').nth(1)?.parse().ok()?;
        (index < self.len() && self.path(index) == path).then_some(index)
    }

    /// Whether these are the bytes of an object from `start` on.
    pub(super) fn matches(&self, index: usize, start: u64, bytes: &[u8]) -> bool {
        start + bytes.len() as u64 <= self.objects[index].size_bytes
            && self.payload.matches(self.offsets[index] + start, bytes)
    }

    /// The bytes of an object, in pieces.
    pub(super) fn body(&self, index: usize) -> Body {
        let start = self.offsets[index];
        let end = start + self.objects[index].size_bytes;
        Body { outbox: None, offset: start, end }
    }
}

/// The bytes of one object, a piece at a time.
pub(super) struct Body {
    /// There while some of the bytes, and not all, were asked for: it is large, and many answers may be under way.
    outbox: Option<Outbox>,
    offset: u64,
    end: u64,
}

impl Body {
    /// The next piece, of an object of `page`; `None` when there is no more.
    pub(super) fn next_piece(&mut self, page: &Page) -> Option<Bytes> {
        if self.offset == self.end {
            return None;
        }
        let outbox = self.outbox.get_or_insert_with(|| Outbox::new(&page.payload));
        let piece =
            Bytes::copy_from_slice(outbox.bytes(self.offset..self.end.min(self.offset + CHUNK_BYTES)));
        self.offset += piece.len() as u64;
        if self.offset == self.end {
            self.outbox = None;
        }
        Some(piece)
    }

    /// Bytes that are still to come.
    pub(super) fn left_bytes(&self) -> u64 {
        self.end - self.offset
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(sizes: &[u64]) -> Page {
        let objects = sizes
            .iter()
            .enumerate()
            .map(|(index, size_bytes)| Object {
                name: format!("a b/{index}.gif"),
                size_bytes: *size_bytes,
                after: 0,
                origin: 0,
            })
            .collect();
        Page::new(objects, 9)
    }

    #[test]
    fn a_body_is_what_the_browser_expects_and_nothing_else_is() {
        let page = page(&[17_000, 0, 200_000]);
        for index in 0..page.len() {
            let mut body = page.body(index);
            let mut start = 0;
            while let Some(piece) = body.next_piece(&page) {
                assert!(page.matches(index, start, &piece));
                start += piece.len() as u64;
            }
            assert_eq!(start, page.object(index).size_bytes);
        }
        let piece = page.body(2).next_piece(&page).expect("it has bytes");
        assert!(!page.matches(0, 0, &piece[..100]), "bytes of another object");
        assert!(!page.matches(2, 1, &piece[..100]), "bytes of another place");
        assert!(
            !page.matches(0, 16_990, &page.body(0).next_piece(&page).expect("it has bytes")[..20]),
            "too many"
        );
    }

    #[test]
    fn a_path_leads_to_its_object_alone() {
        let page = page(&[1, 2]);
        assert_eq!(page.path(1), "/1/a%20b/1.gif");
        assert_eq!(page.asked_for(&page.path(1)), Some(1));
        for other in ["/", "/1", "/0/a%20b/1.gif", "/7/x", ""] {
            assert_eq!(page.asked_for(other), None, "{other}");
        }
    }
}

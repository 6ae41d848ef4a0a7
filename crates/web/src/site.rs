//! What can be asked for: a page, any number of octets, and the resources of generated sites.
//!
//! Every answer is made of the same filler, so that the same path is the same octets whatever carries them.

use std::collections::HashMap;
use std::path::Path;

use bytes::Bytes;
use serde::Deserialize;

use crate::Refusal;

/// The size of the page at `/`.
pub const PAGE_OCTETS: u64 = 1000;

/// The largest answer.
pub const MOST_OCTETS: u64 = 1 << 30;

/// How much of an answer is handed over at a time: as much as a TLS record holds (RFC 8446, section 5.1).
pub const PIECE_OCTETS: usize = 1 << 14;

/// Lines of 63 letters, as page sizes are counted in text.
static FILLER: [u8; PIECE_OCTETS] = {
    let mut filler = [0; PIECE_OCTETS];
    let mut at = 0;
    while at < PIECE_OCTETS {
        filler[at] = if at % 64 == 63 { b'\n' } else { b'a' + (at % 26) as u8 };
        at += 1;
    }
    filler
};

/// A resource.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resource {
    /// Its size.
    pub octets: u64,
    /// Its media type.
    #[serde(rename = "type")]
    pub media_type: String,
}

/// All resources of a server.
#[derive(Debug, Default)]
pub struct Site(HashMap<String, Resource>);

impl Site {
    /// The page and any number of octets; with `file`, also what it lists: an object with a path as each key and
    /// `{"octets": N, "type": "TYPE/SUBTYPE"}` as its value.
    ///
    /// # Errors
    /// A sentence: the file cannot be read, or is not such an object.
    pub fn open(file: Option<&Path>) -> Result<Self, Refusal> {
        let Some(file) = file else { return Ok(Self::default()) };
        let name = file.display();
        let text = std::fs::read_to_string(file).map_err(|error| Refusal::of(&name, error))?;
        let listed: HashMap<String, Resource> =
            serde_json::from_str(&text).map_err(|error| Refusal::of(&name, error))?;
        for (path, resource) in &listed {
            let wrong = |what: &str| Err(Refusal::new(format!("{name}: `{path}` {what}")));
            if !path.starts_with('/') {
                return wrong("is no path: it should begin with /");
            }
            if resource.octets > MOST_OCTETS {
                return wrong(&format!("is larger than {MOST_OCTETS} octets"));
            }
            if hyper::header::HeaderValue::from_str(&resource.media_type).is_err() {
                return wrong("has a type that is no header value");
            }
        }
        Ok(Self(listed))
    }

    /// The resource of this path, if there is one.
    pub fn find(&self, path: &str) -> Option<Resource> {
        if let Some(listed) = self.0.get(path) {
            return Some(listed.clone());
        }
        let made = |octets, media_type: &str| Resource { octets, media_type: media_type.into() };
        if path == "/" {
            return Some(made(PAGE_OCTETS, "text/html"));
        }
        let octets = path.strip_prefix("/bytes/")?.parse().ok().filter(|octets| *octets <= MOST_OCTETS)?;
        Some(made(octets, "application/octet-stream"))
    }
}

/// The pieces of an answer of so many octets.
#[derive(Debug)]
pub struct Pieces(u64);

impl Pieces {
    /// Those of a resource of this size.
    pub fn new(octets: u64) -> Self {
        Self(octets)
    }

    /// Octets that are still to come.
    pub fn left(&self) -> u64 {
        self.0
    }
}

impl Iterator for Pieces {
    type Item = Bytes;

    fn next(&mut self) -> Option<Bytes> {
        if self.0 == 0 {
            return None;
        }
        let octets = usize::try_from(self.0).map_or(PIECE_OCTETS, |left| left.min(PIECE_OCTETS));
        self.0 -= octets as u64;
        Some(Bytes::from_static(&FILLER[..octets]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(name: &str, text: &str) -> Result<Site, Refusal> {
        let file = std::env::temp_dir().join(format!("gauntlet-web-{}-{name}.json", std::process::id()));
        std::fs::write(&file, text).expect("a place for files");
        let site = Site::open(Some(&file));
        std::fs::remove_file(&file).expect("it was just written");
        site
    }

    #[test]
    fn an_answer_has_as_many_octets_as_its_resource() {
        for octets in [0, 1, PAGE_OCTETS, PIECE_OCTETS as u64, 100_000] {
            let pieces: Vec<Bytes> = Pieces::new(octets).collect();
            assert_eq!(pieces.iter().map(|piece| piece.len() as u64).sum::<u64>(), octets);
            assert!(pieces.iter().all(|piece| !piece.is_empty()));
        }
    }

    #[test]
    fn paths_lead_to_the_page_to_octets_and_to_what_is_listed() {
        let site = listed("good", r#"{"/a/b.css": {"octets": 7, "type": "text/css"}}"#).expect("a site");
        assert_eq!(site.find("/").map(|page| page.octets), Some(PAGE_OCTETS));
        assert_eq!(site.find("/bytes/12345").map(|found| found.octets), Some(12345));
        assert_eq!(site.find("/a/b.css"), Some(Resource { octets: 7, media_type: "text/css".into() }));
        let too_many = format!("/bytes/{}", MOST_OCTETS + 1);
        for missing in ["/a", "", "/bytes/", "/bytes/-1", &too_many] {
            assert_eq!(site.find(missing), None, "{missing}");
        }
    }

    #[test]
    fn what_is_wrong_with_a_list_is_said() {
        for (name, text, word) in [
            ("path", r#"{"a": {"octets": 7, "type": "text/css"}}"#, "begin with /"),
            ("size", r#"{"/a": {"octets": 9000000000, "type": "text/css"}}"#, "larger"),
            ("type", r#"{"/a": {"octets": 7, "type": "text\ncss"}}"#, "header value"),
            ("field", r#"{"/a": {"octets": 7, "type": "a/b", "age": 1}}"#, "age"),
        ] {
            let refusal = listed(name, text).expect_err(name);
            assert!(refusal.to_string().contains(word), "{refusal}");
        }
    }
}

//! The format of the vector files: what `README.md` in the folder `vectors` describes, as structures.

use serde::{Deserialize, Serialize};

/// A file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// Version of the format: 1.
    pub format: u32,
    /// What the vectors are for.
    pub about: String,
    /// The vectors.
    pub vectors: Vec<Vector>,
}

/// Two ends that are set up alike, and what is done with them.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Vector {
    pub name: String,
    pub about: String,
    pub source: Source,
    pub link: Link,
    #[serde(default)]
    pub keys: Vec<Key>,
    #[serde(default)]
    pub associations: Vec<Association>,
    pub steps: Vec<Step>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Source {
    /// "own".
    Own(String),
    /// A public test suite.
    #[serde(rename_all = "kebab-case")]
    Foreign { repository: String, path: String, test: String, taken: String },
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Link {
    Tc {
        segment_header: bool,
        fecf: bool,
        largest: usize,
    },
    Tm {
        frame: usize,
        fecf: bool,
    },
    Aos {
        frame: usize,
        fhec: bool,
        insert_zone: usize,
        ocf: bool,
        fecf: bool,
    },
    Uslp {
        fixed: Option<usize>,
        largest: Option<usize>,
        insert_zone: usize,
        fecf: bool,
        truncated: Option<usize>,
    },
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Key {
    pub id: u16,
    pub kind: String,
    pub octets: String,
    pub state: String,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Association {
    pub spi: u16,
    pub service: String,
    pub algorithm: String,
    pub key_octets: usize,
    pub mac_octets: usize,
    pub iv: String,
    pub iv_transmitted: usize,
    pub sequence: String,
    pub sequence_transmitted: usize,
    pub padding_block: u8,
    pub pad_length_octets: usize,
    pub mask: String,
    pub window: u64,
    pub reserved_spi: bool,
    pub key: Option<u16>,
    pub state: String,
    pub channels: Vec<Channel>,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Channel {
    pub version: u8,
    pub spacecraft: u16,
    pub channel: u8,
    pub map: Option<u8>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Frame {
    Tc(Tc),
    Tm(Tm),
    Aos(Aos),
    Uslp(Uslp),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tc {
    pub service: String,
    pub spacecraft: u16,
    pub channel: u8,
    pub sequence: u8,
    pub segment: Option<(u8, u8)>,
    pub data: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tm {
    pub spacecraft: u16,
    pub channel: u8,
    pub master_count: u8,
    pub channel_count: u8,
    pub status: u16,
    pub secondary: Option<String>,
    pub data: String,
    pub ocf: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Aos {
    pub spacecraft: u8,
    pub channel: u8,
    pub count: u32,
    pub replay: bool,
    pub cycle: Option<u8>,
    pub insert: String,
    pub data: String,
    pub ocf: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Uslp {
    pub spacecraft: u16,
    pub destination: bool,
    pub channel: u8,
    pub map: u8,
    pub truncated: bool,
    pub expedited: bool,
    pub control: bool,
    pub count_octets: u8,
    pub count: u64,
    pub insert: String,
    pub data: String,
    pub ocf: Option<String>,
}

/// One thing that is done; `gives` or `refused` says what comes of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
pub enum Step {
    /// The frame is written without security.
    Encode {
        frame: Frame,
        #[serde(flatten)]
        expect: Expect<String>,
    },
    /// Octets are read without security.
    Decode {
        octets: String,
        #[serde(flatten)]
        expect: Expect<Frame>,
    },
    /// The sender protects the frame.
    Apply {
        spi: u16,
        frame: Frame,
        #[serde(flatten)]
        expect: Expect<String>,
    },
    /// The receiver opens octets.
    Process {
        octets: String,
        #[serde(flatten)]
        expect: Expect<Frame>,
    },
    /// The receiver does a command of the extended procedures; `gives` is its reply, empty for none.
    Command {
        octets: String,
        unit: String,
        carried_by: Option<u16>,
        #[serde(flatten)]
        expect: Expect<String>,
    },
    /// Either end is told something by its operator; `gives` is empty.
    Operate {
        end: String,
        what: Operation,
        #[serde(flatten)]
        expect: Expect<String>,
    },
    /// A reply of key verification, for these challenges, is checked against the vector's keys; `gives` is empty.
    Proof {
        octets: String,
        challenges: Vec<String>,
        #[serde(flatten)]
        expect: Expect<String>,
    },
    /// The receiver's frame security report.
    Report {
        #[serde(flatten)]
        expect: Expect<String>,
    },
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    Rekey { spi: u16, key: u16, iv: Option<String> },
    Start { spi: u16, channels: Vec<Channel> },
    Stop { spi: u16 },
    Expire { spi: u16 },
    Delete { spi: u16 },
    SetLast { spi: u16, value: String },
    Activate { key: u16 },
    Deactivate { key: u16 },
    Destroy { key: u16 },
}

/// What comes of a step: exactly one of the two.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Expect<T> {
    #[serde(default = "Option::default", skip_serializing_if = "Option::is_none")]
    pub gives: Option<T>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

impl<T> Default for Expect<T> {
    fn default() -> Self {
        Self { gives: None, refused: None }
    }
}

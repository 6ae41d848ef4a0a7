//! The wire format: header, extensions, checksums.

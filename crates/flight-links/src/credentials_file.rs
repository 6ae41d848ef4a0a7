//! Credentials as lines of text, for a process that is to make no keys of its own: a name and octets in hexadecimal each.

use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};

use crate::credentials::{Credentials, Identity};

const AUTHORITY: &str = "authority";
const GROUND: [&str; 2] = ["ground-certificate", "ground-key"];
const SPACE: [&str; 2] = ["space-certificate", "space-key"];

/// Why a text is no credentials. No error shows a key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CredentialsError {
    /// A line that is none of those that there are.
    #[error("line {line}: wanted a name of {known} and octets in hexadecimal", known = names().join(", "))]
    Line {
        /// Its number, from 1.
        line: usize,
    },
    /// Something stands there twice.
    #[error("line {line}: a second «{name}»")]
    Twice {
        /// Its number, from 1.
        line: usize,
        /// What it is.
        name: &'static str,
    },
    /// Something is not there.
    #[error("there is no line «{name}»")]
    Lacking {
        /// What it is.
        name: &'static str,
    },
}

fn names() -> [&'static str; 5] {
    [AUTHORITY, GROUND[0], GROUND[1], SPACE[0], SPACE[1]]
}

impl Credentials {
    /// The lines of text that [`read`](Self::read) reads, with the private keys of both ends.
    #[must_use]
    pub fn written(&self) -> String {
        let ends = self.ground.iter().map(|identity| (GROUND, identity)).chain([(SPACE, &self.space)]);
        let mut text = line(AUTHORITY, &self.authority);
        for (names, identity) in ends {
            text += &line(names[0], &identity.certificate);
            text += &line(names[1], identity.key.secret_pkcs8_der());
        }
        text
    }

    /// Credentials of lines of text; ground may have none.
    ///
    /// # Errors
    /// What is wrong in which line, or what is not there.
    pub fn read(text: &str) -> Result<Self, CredentialsError> {
        let mut found: [Option<Vec<u8>>; 5] = Default::default();
        for (place, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let wrong = CredentialsError::Line { line: place + 1 };
            let (name, digits) = line.trim().split_once(' ').ok_or_else(|| wrong.clone())?;
            let at = names().iter().position(|known| *known == name).ok_or_else(|| wrong.clone())?;
            let octets = octets(digits.trim()).ok_or(wrong)?;
            if found[at].replace(octets).is_some() {
                return Err(CredentialsError::Twice { line: place + 1, name: names()[at] });
            }
        }
        let [authority, ground_certificate, ground_key, space_certificate, space_key] = found;
        let ground = if ground_certificate.is_some() || ground_key.is_some() {
            Some(identity(GROUND, ground_certificate, ground_key)?)
        } else {
            None
        };
        Ok(Self {
            authority: CertificateDer::from(authority.ok_or(CredentialsError::Lacking { name: AUTHORITY })?),
            ground,
            space: identity(SPACE, space_certificate, space_key)?,
        })
    }
}

fn identity(
    names: [&'static str; 2],
    certificate: Option<Vec<u8>>,
    key: Option<Vec<u8>>,
) -> Result<Identity, CredentialsError> {
    let certificate = certificate.ok_or(CredentialsError::Lacking { name: names[0] })?;
    let key = key.ok_or(CredentialsError::Lacking { name: names[1] })?;
    Ok(Identity { certificate: CertificateDer::from(certificate), key: PrivatePkcs8KeyDer::from(key) })
}

fn line(name: &str, octets: &[u8]) -> String {
    let digits: String = octets.iter().map(|octet| format!("{octet:02x}")).collect();
    format!("{name} {digits}\n")
}

fn octets(digits: &str) -> Option<Vec<u8>> {
    let value = |digit: u8| char::from(digit).to_digit(16);
    let pairs = digits.as_bytes().chunks(2);
    let read = |pair: &[u8]| match *pair {
        [high, low] => Some((value(high)? << 4 | value(low)?) as u8),
        _ => None,
    };
    pairs.map(read).collect::<Option<Vec<_>>>().filter(|octets| !octets.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::Signature;

    #[test]
    fn what_is_written_is_read_as_it_was() {
        for &signature in Signature::ALL {
            let made = Credentials::new(signature).unwrap();
            let read = Credentials::read(&made.written()).unwrap();
            assert_eq!(read.authority, made.authority);
            for (read, made) in
                [(read.ground.as_ref(), made.ground.as_ref()), (Some(&read.space), Some(&made.space))]
            {
                let (read, made) = (read.unwrap(), made.unwrap());
                assert_eq!(read.certificate, made.certificate);
                assert_eq!(read.key.secret_pkcs8_der(), made.key.secret_pkcs8_der());
            }
        }
    }

    #[test]
    fn known_lines_are_known_octets_and_ground_may_have_none() {
        let read = Credentials::read("authority 30\n\n  space-key 0aFF\nspace-certificate 3000\n").unwrap();
        assert_eq!(read.authority.as_ref(), [0x30]);
        assert!(read.ground.is_none());
        assert_eq!(read.space.certificate.as_ref(), [0x30, 0]);
        assert_eq!(read.space.key.secret_pkcs8_der(), [0x0A, 0xFF]);
        assert_eq!(read.written(), "authority 30\nspace-certificate 3000\nspace-key 0aff\n");
    }

    #[test]
    fn mistakes_are_named_and_no_key_is_shown() {
        for (text, said) in [
            ("", "there is no line «authority»"),
            ("authority 30\n", "there is no line «space-certificate»"),
            ("authority 30\nspace-certificate 30\n", "there is no line «space-key»"),
            ("authority 30\nground-key 5ec8e7\n", "there is no line «ground-certificate»"),
            ("authority 30\nauthority 30\n", "line 2: a second «authority»"),
            (
                "\nspace-key 5ec8e\n",
                "line 2: wanted a name of authority, ground-certificate, ground-key, space-certificate, space-key and octets \
                 in hexadecimal",
            ),
        ] {
            assert_eq!(Credentials::read(text).err().unwrap().to_string(), said);
        }
        for text in ["key 30", "authority", "authority ", "authority 3g", "authority +3"] {
            assert_eq!(Credentials::read(text).err(), Some(CredentialsError::Line { line: 1 }), "{text}");
        }
    }
}

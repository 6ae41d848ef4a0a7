//! One end of a link alone, for a process of its own: the other end is in another process, with the same suite and
//! certificates of the same authority.

use std::time::Duration;

use flight::security::End;

use crate::arrangement::check;
use crate::credentials::Credentials;
use crate::dtls::{DtlsGround, DtlsSpace};
use crate::link::Link;
use crate::quic::{Delivery, QuicGround, QuicOptions, QuicSpace};
use crate::suite::{Security, Suite, Unsupported};
use crate::tls::{TlsGround, TlsSpace};
use crate::tls_config::SetupError;

type Opened = Result<Box<dyn Link>, SetupError>;

/// Settings of one end of a security that has certificates.
pub struct Single(Box<dyn Fn() -> Opened>);

impl Single {
    /// The settings of `end`; it uses what it needs of the credentials.
    ///
    /// # Errors
    /// If the security has no certificates, a library does not have the suite, or something could not be made.
    pub fn new(
        end: End,
        security: Security,
        suite: &Suite,
        credentials: &Credentials,
    ) -> Result<Self, SetupError> {
        check(security, suite)?;
        Ok(Self(match security {
            Security::QuicStream => quic(end, suite, credentials, Delivery::Stream)?,
            Security::QuicDatagram => quic(end, suite, credentials, Delivery::Datagram)?,
            Security::Tls => match end {
                End::Ground => {
                    let ground = TlsGround::new(suite, credentials, false)?;
                    Box::new(move || Ok(Box::new(ground.open()?)))
                }
                End::Space => {
                    let space = TlsSpace::new(suite, credentials, false)?;
                    Box::new(move || Ok(Box::new(space.wait()?)))
                }
            },
            Security::Dtls => match end {
                End::Ground => {
                    let ground = DtlsGround::new(suite, credentials, false)?;
                    Box::new(move || Ok(Box::new(ground.open(Duration::ZERO))))
                }
                End::Space => {
                    let space = DtlsSpace::new(suite, credentials, false)?;
                    Box::new(move || Ok(Box::new(space.wait(Duration::ZERO))))
                }
            },
            security => return Err(Unsupported::NoSuite { security }.into()),
        }))
    }

    /// This end of a new link, at time zero: ground begins a session, space waits for one.
    ///
    /// # Errors
    /// If a library refuses it.
    pub fn open(&self) -> Result<Box<dyn Link>, SetupError> {
        self.0()
    }
}

fn quic(
    end: End,
    suite: &Suite,
    credentials: &Credentials,
    delivery: Delivery,
) -> Result<Box<dyn Fn() -> Opened>, SetupError> {
    let options = QuicOptions::new(delivery);
    Ok(match end {
        End::Ground => {
            let ground = QuicGround::new(suite, credentials, options, false)?;
            Box::new(move || Ok(Box::new(ground.open(Duration::ZERO)?)))
        }
        End::Space => {
            let space = QuicSpace::new(suite, credentials, options, false)?;
            Box::new(move || Ok(Box::new(space.wait(Duration::ZERO))))
        }
    })
}

//! Options that more than one program has.

use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::{Args, ValueEnum};

use super::keys::{everybody_reads, read_keys};
use crate::security::{Algorithm, End, Link, Plain, Sdls, SdlsConfig};
use crate::time::Subseconds;

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Security {
    /// Plain messages, as CI_LAB and TO_LAB have them
    None,
    /// SDLS with AES-256-GCM: encrypted and authenticated
    SdlsGcm,
    /// SDLS with AES-256-CMAC: authenticated
    SdlsCmac,
}

/// The security of the link.
#[derive(Args, Debug)]
pub struct SecurityOptions {
    /// What protects the link; both ends have the same. None unless it is named; flight-gateway wants it named
    #[arg(long, value_enum)]
    security: Option<Security>,
    /// File with the keys: two lines, «up» and «down», each with 64 hexadecimal digits
    #[arg(long, value_name = "FILE")]
    keys: Option<PathBuf>,
    /// Octets of every TM frame
    #[arg(long, value_name = "OCTETS", default_value_t = 1115)]
    tm_frame: usize,
}

impl SecurityOptions {
    /// One end of the link, without security if none was named. Keys that everybody can read are told on standard error in
    /// the name of `program`.
    ///
    /// # Errors
    /// If keys are missing, superfluous or unreadable, or the library refuses them.
    pub fn link(&self, program: &str, end: End) -> Result<Link, String> {
        let algorithm = match (self.security, &self.keys) {
            (None | Some(Security::None), None) => return Ok(Link::new(Box::new(Plain::default()))),
            (None | Some(Security::None), Some(_)) => {
                return Err("--keys is of no use without --security".to_owned());
            }
            (Some(Security::SdlsGcm), _) => Algorithm::Gcm,
            (Some(Security::SdlsCmac), _) => Algorithm::Cmac,
        };
        let path = self.keys.as_deref().ok_or("this --security needs --keys FILE")?;
        if everybody_reads(path) {
            let path = path.display();
            eprintln!(
                "{program}: warning: every user of this machine can read the keys in {path}: chmod 600 {path}"
            );
        }
        let config = SdlsConfig {
            first_number: first_number()?,
            tm_frame_octets: self.tm_frame,
            ..SdlsConfig::new(algorithm, read_keys(path)?)
        };
        let security = Sdls::new(end, &config).map_err(|error| error.to_string())?;
        Ok(Link::new(Box::new(security)))
    }

    /// The same for a program that is there for its security: one must be named. To name «none» is told on standard error.
    ///
    /// # Errors
    /// As [`link`](Self::link), and if no security was named.
    pub fn link_as_named(&self, program: &str, end: End) -> Result<Link, String> {
        match self.security {
            None => {
                return Err(
                    "name what protects the link: --security sdls-gcm or sdls-cmac, with --keys FILE"
                        .to_owned(),
                );
            }
            Some(Security::None) => {
                eprintln!(
                    "{program}: warning: --security none protects nothing: whoever reaches this program commands \
                     what is behind it"
                );
            }
            Some(_) => {}
        }
        self.link(program, end)
    }
}

/// A number above all that a program which began before has sent, as long as the system's clock is not set back: the
/// nanoseconds since 1970. No program sends a thousand million frames a second.
fn first_number() -> Result<u64, String> {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .ok()
        .and_then(|since| u64::try_from(since.as_nanos()).ok())
        .ok_or_else(|| "the system's clock shows no time after 1970; set it, since no frame may be numbered as one before".to_owned())
}

/// Reads a time: a number with `us`, `ms` or `s` behind it, or 0.
///
/// # Errors
/// If it is none.
pub fn duration(text: &str) -> Result<Duration, String> {
    let error = || format!("«{text}» is no time: a number with us, ms or s behind it, as in 10ms");
    let (number, scale) = ["us", "ms", "s"]
        .into_iter()
        .zip([1e-6, 1e-3, 1.0])
        .find_map(|(unit, scale)| Some((text.strip_suffix(unit)?, scale)))
        .or_else(|| (text == "0").then_some((text, 1.0)))
        .ok_or_else(error)?;
    let seconds = number.trim().parse::<f64>().map_err(|_| error())? * scale;
    Duration::try_from_secs_f64(seconds).map_err(|_| error())
}

/// Reads the format of sub-seconds: `16`, `32` or `micros`.
///
/// # Errors
/// If it is none of them.
pub fn subseconds(text: &str) -> Result<Subseconds, String> {
    match text {
        "16" => Ok(Subseconds::Bits16),
        "32" => Ok(Subseconds::Bits32),
        "micros" => Ok(Subseconds::Micros20),
        _ => Err(format!("«{text}» is no format of sub-seconds: 16, 32 or micros")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_with_their_units() {
        for (text, micros) in
            [("0", 0), ("250us", 250), ("10ms", 10_000), ("0.5s", 500_000), ("2 s", 2_000_000)]
        {
            assert_eq!(duration(text), Ok(Duration::from_micros(micros)), "{text}");
        }
        for text in ["10", "ms", "-1s", "1e300s", "NaNs", "5min"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }
}

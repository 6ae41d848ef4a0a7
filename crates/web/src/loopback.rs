//! Both programs keep to this machine.

use std::net::SocketAddr;

use crate::Refusal;

/// The address, if it is one of loopback (127.0.0.0/8 or ::1). There is no switch that lets another one through.
///
/// # Errors
/// A sentence for every other address.
pub fn only_loopback(address: SocketAddr) -> Result<SocketAddr, Refusal> {
    if address.ip().is_loopback() {
        return Ok(address);
    }
    Err(Refusal::new(format!("{address} is not on loopback: give an address of 127.0.0.0/8 or ::1")))
}

#[cfg(test)]
mod tests {
    use super::only_loopback;

    #[test]
    fn what_is_not_loopback_is_refused() {
        for good in ["127.0.0.1:1", "127.255.0.9:443", "[::1]:443"] {
            let address = good.parse().expect("an address");
            assert_eq!(only_loopback(address).expect("loopback"), address);
        }
        for bad in ["0.0.0.0:443", "[::]:443", "10.0.0.1:443", "128.0.0.1:443", "[::ffff:127.0.0.1]:443"] {
            let refusal = only_loopback(bad.parse().expect("an address")).expect_err("not loopback");
            assert!(refusal.to_string().contains("not on loopback"), "{refusal}");
        }
    }
}

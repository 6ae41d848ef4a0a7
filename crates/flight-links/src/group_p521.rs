//! P-521 for rustls, which names the group and has no key exchange with it; AWS-LC has the curve.

use aws_lc_rs::agreement::{ECDH_P521, EphemeralPrivateKey, UnparsedPublicKey, agree_ephemeral};
use aws_lc_rs::rand::SystemRandom;
use rustls::crypto::{ActiveKeyExchange, GetRandomFailed, SharedSecret, SupportedKxGroup};
use rustls::{Error, NamedGroup, PeerMisbehaved};

/// The group, for a provider's list.
pub static P521: &dyn SupportedKxGroup = &EcdhP521;

#[derive(Debug)]
struct EcdhP521;

impl SupportedKxGroup for EcdhP521 {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        let private =
            EphemeralPrivateKey::generate(&ECDH_P521, &SystemRandom::new()).map_err(|_| GetRandomFailed)?;
        let public = private.compute_public_key().map_err(|_| GetRandomFailed)?.as_ref().to_vec();
        Ok(Box::new(Exchange { private, public }))
    }

    fn name(&self) -> NamedGroup {
        NamedGroup::secp521r1
    }
}

struct Exchange {
    private: EphemeralPrivateKey,
    public: Vec<u8>,
}

impl ActiveKeyExchange for Exchange {
    fn complete(self: Box<Self>, peer: &[u8]) -> Result<SharedSecret, Error> {
        // A point begins with its form, and only the uncompressed one is allowed (RFC 8446, section 4.2.8.2). That it
        // lies on the curve is checked by the library.
        let misbehaved = Error::PeerMisbehaved(PeerMisbehaved::InvalidKeyShare);
        if peer.first() != Some(&4) {
            return Err(misbehaved);
        }
        let peer = UnparsedPublicKey::new(&ECDH_P521, peer);
        agree_ephemeral(self.private, peer, misbehaved, |secret| Ok(SharedSecret::from(secret)))
    }

    fn pub_key(&self) -> &[u8] {
        &self.public
    }

    fn group(&self) -> NamedGroup {
        NamedGroup::secp521r1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_get_one_secret_and_no_other_point_is_taken() {
        let (one, other) = (P521.start().unwrap(), P521.start().unwrap());
        let (from_one, from_other) = (one.pub_key().to_vec(), other.pub_key().to_vec());
        assert_eq!((from_one.len(), from_one[0]), (133, 4));
        let (left, right) = (one.complete(&from_other).unwrap(), other.complete(&from_one).unwrap());
        assert_eq!(left.secret_bytes(), right.secret_bytes());
        assert_eq!(left.secret_bytes().len(), 66);
        let mut off_the_curve = from_one.clone();
        off_the_curve[100] ^= 1;
        for wrong in [&off_the_curve[..], &from_one[..132], &[], &[&[2], &from_one[1..67]].concat()] {
            assert!(P521.start().unwrap().complete(wrong).is_err());
        }
    }
}

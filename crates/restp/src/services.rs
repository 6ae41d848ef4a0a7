//! What may be passed where services are chosen: a profile, checked on the spot, or a composition, checked before.

use restp_proto::{Composition, Profile};

use crate::Error;

/// A choice of services. Pass a [`Profile`], or a [`Composition`] to check only once and share its memory.
pub trait Services: private::Sealed {
    /// The checked services.
    ///
    /// # Errors
    /// [`Error::Profile`] with every conflict.
    fn compose(self) -> Result<Composition, Error>;
}

impl Services for Profile {
    fn compose(self) -> Result<Composition, Error> {
        self.validate().map_err(Error::Profile)
    }
}

impl Services for &Profile {
    fn compose(self) -> Result<Composition, Error> {
        self.clone().compose()
    }
}

impl Services for Composition {
    fn compose(self) -> Result<Composition, Error> {
        Ok(self)
    }
}

impl Services for &Composition {
    fn compose(self) -> Result<Composition, Error> {
        Ok(self.clone())
    }
}

mod private {
    pub trait Sealed {}
    impl Sealed for restp_proto::Profile {}
    impl Sealed for &restp_proto::Profile {}
    impl Sealed for restp_proto::Composition {}
    impl Sealed for &restp_proto::Composition {}
}

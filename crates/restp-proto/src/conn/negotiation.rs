//! What the handshake of the first path leaves behind: the cookie at hand, and whether congestion marks are agreed on.

use crate::wire::Cookie;

/// Fresh cookies that a client takes before it gives up: a server that refuses its own cookies is broken.
const MAX_COOKIE_REFRESHES: u32 = 2;

/// The outcome of the handshake, as far as no other part has it.
#[derive(Debug, Default)]
pub(crate) struct Negotiation {
    /// The cookie that our SYN shows.
    pub cookie: Option<Cookie>,
    refreshes: u32,
    /// Both ends react to marks (answer I9).
    pub ecn: bool,
}

impl Negotiation {
    /// Takes a cookie that the responder granted; `false` if it grants too many.
    // Answers D6 and D7. R-OPT-5, R-PROT-9
    pub fn refresh(&mut self, cookie: Cookie) -> bool {
        self.refreshes += 1;
        let fine = self.refreshes <= MAX_COOKIE_REFRESHES;
        if fine {
            self.cookie = Some(cookie);
        }
        fine
    }
}

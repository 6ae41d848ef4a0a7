//! Switches off what merges packets or leaves their cutting to the card, and on again what a host of one's own does of
//! it, by the `ethtool` system call (Linux `Documentation/networking/netdev-features.rst`).

use std::ffi::c_void;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};

use crate::Error;
use crate::error::Attempt;

// `linux/ethtool.h`.
const ETHTOOL_GSTRINGS: u32 = 0x1b;
const ETHTOOL_GSSET_INFO: u32 = 0x37;
const ETHTOOL_SFEATURES: u32 = 0x3b;
const ETH_SS_FEATURES: u32 = 4;
const ETH_GSTRING_LEN: usize = 32;

/// Features whose name contains one of these cut or merge packets.
const MERGING: [&str; 4] = ["segmentation", "gso", "gro", "lro"];

/// Those of them that a host may have: its interface cuts segments as they leave (GSO), and merges what comes at one
/// instant (GRO). Not among them is what hands segments on uncut, such as `tx-tcp-segmentation`.
const WITHIN_A_HOST: [&str; 2] = ["tx-generic-segmentation", "rx-gro"];

/// Features whose name begins with this leave the checksums of what is sent to the card.
const SUMMING: &str = "tx-checksum";

/// Access to the features of all interfaces of one namespace.
pub(crate) struct Offloads {
    socket: OwnedFd,
}

impl Offloads {
    /// Opens it in the namespace of the calling thread.
    pub fn open() -> Result<Self, Error> {
        let socket = socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)
            .attempt(|| "cannot open a socket for ethtool".into())?;
        Ok(Offloads { socket })
    }

    /// Which of the kernel's features merge or cut packets, in the order of the kernel's list. The list is
    /// the same for every interface of a kernel.
    pub fn merging_features(&self, interface: &str) -> Result<Vec<bool>, Error> {
        self.features(interface, |name| MERGING.iter().any(|part| name.contains(part)))
    }

    /// Which of them a host may have without any packet on its link being longer than the MTU, in the same order.
    pub fn host_features(&self, interface: &str) -> Result<Vec<bool>, Error> {
        self.features(interface, |name| WITHIN_A_HOST.contains(&name))
    }

    /// Which of them leave checksums to the card, in the same order.
    pub fn checksum_features(&self, interface: &str) -> Result<Vec<bool>, Error> {
        self.features(interface, |name| name.starts_with(SUMMING))
    }

    fn features(&self, interface: &str, wanted: impl Fn(&str) -> bool) -> Result<Vec<bool>, Error> {
        let what = || format!("cannot list the features of interface {interface}");
        // struct ethtool_sset_info: cmd, reserved, sset_mask (u64), data[1].
        let mut info = [ETHTOOL_GSSET_INFO, 0, 1 << ETH_SS_FEATURES, 0, 0];
        self.call(interface, info.as_mut_ptr().cast()).attempt(what)?;
        let count = info[4] as usize;
        // struct ethtool_gstrings: cmd, string_set, len, then the names.
        let mut names = vec![0u32; 3 + count * ETH_GSTRING_LEN / 4];
        names[0] = ETHTOOL_GSTRINGS;
        names[1] = ETH_SS_FEATURES;
        names[2] = info[4];
        self.call(interface, names.as_mut_ptr().cast()).attempt(what)?;
        let bytes: Vec<u8> = names[3..].iter().flat_map(|word| word.to_ne_bytes()).collect();
        Ok(bytes.chunks(ETH_GSTRING_LEN).map(|name| wanted(&text(name))).collect())
    }

    /// Switches these features of an interface off.
    ///
    /// # Errors
    /// [`Error::System`] if the kernel keeps one of them on.
    pub fn switch_off(&self, interface: &str, features: &[bool]) -> Result<(), Error> {
        self.switch(interface, features, false)
    }

    /// Switches these features of an interface on.
    ///
    /// # Errors
    /// [`Error::System`] if the kernel keeps one of them off.
    pub fn switch_on(&self, interface: &str, features: &[bool]) -> Result<(), Error> {
        self.switch(interface, features, true)
    }

    fn switch(&self, interface: &str, features: &[bool], on: bool) -> Result<(), Error> {
        let [wanted, kept] = if on { ["on", "off"] } else { ["off", "on"] };
        let what = || format!("cannot switch {wanted} the offloads of interface {interface}");
        // struct ethtool_sfeatures: cmd, size, then per 32 features which ones are meant (valid) and wanted
        // (requested).
        let mut request = vec![ETHTOOL_SFEATURES, features.len().div_ceil(32) as u32];
        for block in features.chunks(32) {
            let valid = block.iter().enumerate().fold(0, |bits, (i, &meant)| bits | u32::from(meant) << i);
            request.extend([valid, if on { valid } else { 0 }]);
        }
        let answer = self.call(interface, request.as_mut_ptr().cast()).attempt(what)?;
        // ETHTOOL_F_UNSUPPORTED (1) says that some can never change: those were never on.
        // ETHTOOL_F_WISH (2) says that something else keeps one as it was.
        if answer & 2 != 0 || on && answer & 1 != 0 {
            return Err(io::Error::other(format!("the kernel keeps one of them {kept}"))).attempt(what);
        }
        Ok(())
    }

    fn call(&self, interface: &str, data: *mut c_void) -> io::Result<i32> {
        // SAFETY: an all-zero ifreq is a valid value of this plain C structure.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        for (to, from) in request.ifr_name.iter_mut().zip(interface.bytes()) {
            *to = from as libc::c_char;
        }
        request.ifr_ifru.ifru_data = data.cast();
        // SAFETY: the kernel reads and writes `request` and the structure behind `data`, which each caller
        // has laid out with the length that its command states.
        let answer = unsafe { libc::ioctl(self.socket.as_raw_fd(), libc::SIOCETHTOOL, &mut request) };
        if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(answer) }
    }
}

fn text(name: &[u8]) -> String {
    name.iter().take_while(|&&b| b != 0).map(|&b| char::from(b)).collect()
}

//! By what right namespaces are made here: in a user namespace of one's own where the host allows that, else as root.

use std::fs;

use nix::errno::Errno;
use nix::sched::{CloneFlags, unshare};
use nix::unistd::{getegid, geteuid};

use crate::failure::{Failure, Result};

/// The right by which this process makes namespaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rights {
    /// It is root in a user namespace of its own.
    UserNamespace,
    /// It is root.
    Root,
}

impl Rights {
    /// Gets them, and leaves the host's network for an empty namespace. To be called before the first thread starts.
    ///
    /// # Errors
    /// Neither way is open, with the reason of both.
    pub fn acquire() -> Result<Rights> {
        let rights = match own_user_namespace() {
            Ok(()) => Rights::UserNamespace,
            Err(_) if geteuid().is_root() => Rights::Root,
            Err(error) => {
                return Err(Failure::new(format!(
                    "the host lets this user make no user namespace ({}) and this is not root: allow it \
                     (sysctl kernel.unprivileged_userns_clone=1, user.max_user_namespaces, or an AppArmor profile with \
                     userns), or become root",
                    error.desc()
                )));
            }
        };
        unshare(CloneFlags::CLONE_NEWNET).map_err(|error| {
            Failure::new(format!("the host lets nobody make a network namespace here: {}", error.desc()))
        })?;
        Ok(rights)
    }

    /// The word in a record.
    pub fn name(self) -> &'static str {
        match self {
            Rights::UserNamespace => "user namespace",
            Rights::Root => "root",
        }
    }
}

/// A user namespace in which this user is root (user_namespaces(7)).
fn own_user_namespace() -> std::result::Result<(), Errno> {
    let (user, group) = (geteuid(), getegid());
    unshare(CloneFlags::CLONE_NEWUSER)?;
    let write = |name: &str, text: String| {
        fs::write(format!("/proc/self/{name}"), text)
            .map_err(|error| Errno::from_raw(error.raw_os_error().unwrap_or(libc::EPERM)))
    };
    write("setgroups", "deny".into())?;
    write("uid_map", format!("0 {user} 1"))?;
    write("gid_map", format!("0 {group} 1"))
}

//! What a program of the user's own sees otherwise than the rest of its ground: a `/tmp` that is empty and its own, and
//! nodes by name. Mounts in a namespace of the program's thread, which all that it starts inherits.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use netlab::Network;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};

use crate::ends::address;
use crate::failure::{Failure, Result};
use crate::plan::Program;

const TMP: &str = "/tmp";
const HOSTS: &str = "/etc/hosts";

/// The view of one program.
pub struct Files {
    aside: PathBuf,
    /// Entries of the host's `/tmp` that stay; none: `/tmp` is the host's.
    kept: Option<Vec<PathBuf>>,
    hosts: Option<String>,
}

impl Files {
    /// What a plan asks for a program; none where that is nothing. What is mounted comes from below `scratch`.
    ///
    /// # Errors
    /// A name is one of a node that has no address.
    pub fn of(program: &Program, network: &Network, scratch: &Path) -> Result<Option<Files>> {
        if !program.private_tmp && program.names.is_empty() {
            return Ok(None);
        }
        let mut hosts = String::from("127.0.0.1 localhost\n");
        for (name, node) in &program.names {
            hosts += &format!("{} {name}\n", address(network, node)?);
        }
        Ok(Some(Files {
            aside: scratch.join("files").join(&program.id),
            // Who works in /tmp itself is to find there what is written.
            kept: (program.private_tmp && program.working_directory != Path::new(TMP)).then(|| kept(program)),
            hosts: (!program.names.is_empty()).then_some(hosts),
        }))
    }

    /// Gives these files to the calling thread, and to all that it starts from now on.
    ///
    /// # Errors
    /// The kernel refuses a mount.
    pub fn enter(&self) -> Result<()> {
        unshare(CloneFlags::CLONE_NEWNS)
            .map_err(|error| Failure::new(format!("could not make mounts of its own: {}", error.desc())))?;
        mounted(None, Path::new("/"), None, MsFlags::MS_REC | MsFlags::MS_PRIVATE)?;
        fs::create_dir_all(&self.aside)
            .map_err(|error| Failure::io("make a folder for its mounts", &error))?;
        if let Some(kept) = &self.kept {
            self.cover_tmp(kept)?;
        }
        if let Some(hosts) = &self.hosts {
            let own = self.aside.join("hosts");
            fs::write(&own, hosts).map_err(|error| Failure::io("write the names of nodes", &error))?;
            bound(&own, Path::new(HOSTS))?;
        }
        Ok(())
    }

    /// What stays is put aside, and back once `/tmp` is covered.
    fn cover_tmp(&self, kept: &[PathBuf]) -> Result<()> {
        let aside: Vec<_> = (0..kept.len()).map(|number| self.aside.join(number.to_string())).collect();
        for (entry, place) in kept.iter().zip(&aside) {
            stand_in(entry, place)?;
            bound(entry, place)?;
        }
        mounted(Some(Path::new("tmpfs")), Path::new(TMP), Some("tmpfs"), MsFlags::empty())?;
        for (entry, place) in kept.iter().zip(&aside) {
            stand_in(place, entry)?;
            bound(place, entry)?;
        }
        Ok(())
    }
}

/// Entries of the host's `/tmp` in which the program or its working folder lies, and folders that its arguments name.
fn kept(program: &Program) -> Vec<PathBuf> {
    let mut found = BTreeSet::new();
    let program_file = Path::new(&program.argv[0]);
    for path in [program_file, &program.working_directory] {
        found.extend(entry_of_tmp(path));
    }
    let named = program.argv[1..].iter().flat_map(|word| named_in(word)).filter(|entry| entry.is_dir());
    found.extend(named);
    found.into_iter().collect()
}

fn entry_of_tmp(path: &Path) -> Option<PathBuf> {
    let first = path.strip_prefix(TMP).ok()?.components().next()?;
    Some(Path::new(TMP).join(first)).filter(|entry| entry.exists())
}

/// Entries of `/tmp` that a word names, wherever they stand in it: it may be a whole line of shell.
fn named_in(word: &str) -> Vec<PathBuf> {
    const SLASHED: &str = "/tmp/";
    let ends = |letter: char| letter.is_whitespace() || "/'\"`;&|<>()$:,".contains(letter);
    word.match_indices(SLASHED)
        .map(|(place, _)| word[place + SLASHED.len()..].split(ends).next().unwrap_or(""))
        .filter(|name| !name.is_empty())
        .map(|name| Path::new(TMP).join(name))
        .collect()
}

/// Makes at `place` what can be mounted over by `what`: a folder or a file.
fn stand_in(what: &Path, place: &Path) -> Result<()> {
    let made = if what.is_dir() { fs::create_dir_all(place) } else { fs::write(place, "") };
    made.map_err(|error| Failure::io(format_args!("make a place for {}", what.display()), &error))
}

fn bound(what: &Path, place: &Path) -> Result<()> {
    mounted(Some(what), place, None, MsFlags::MS_BIND | MsFlags::MS_REC)
}

fn mounted(what: Option<&Path>, place: &Path, kind: Option<&str>, flags: MsFlags) -> Result<()> {
    let options = kind.map(|_| "mode=1777");
    mount(what, place, kind, flags, options).map_err(|error| {
        Failure::new(format!("could not mount {} for a program: {}", place.display(), error.desc()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_shell_names_entries_of_tmp() {
        let named = |word| named_in(word).into_iter().map(|it| it.display().to_string()).collect::<Vec<_>>();
        assert_eq!(
            named("cd /tmp/build; ./client --out='/tmp/x y' >/tmp/log"),
            ["/tmp/build", "/tmp/x", "/tmp/log"]
        );
        assert_eq!(named("--root=/tmp/www/files:/tmp/more"), ["/tmp/www", "/tmp/more"]);
        assert!(named("/var/tmpfile /tmp/ /tmp").is_empty());
    }

    #[test]
    fn what_lies_elsewhere_is_no_entry_of_tmp() {
        for path in ["/usr/bin/sh", "/tmp", "/tmpdir/x", "/tmp/there-is-no-such-entry/x"] {
            assert_eq!(entry_of_tmp(Path::new(path)), None);
        }
    }
}

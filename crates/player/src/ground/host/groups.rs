//! Control groups of nodes (cgroups(7)): made below the group of this process, of version 1 or 2, whichever the host
//! lets it make; where it lets it make none, only resource usage is left (getrusage(2)).

use std::collections::BTreeMap;
use std::ffi::CString;
use std::fs::{self, File};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use nix::fcntl::{Flock, FlockArg};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, fork};

/// By what the use of a node is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accounting {
    /// Control groups of version 1.
    Version1,
    /// Control groups of version 2.
    Version2,
    /// What the kernel tells of a process when it has ended.
    Rusage,
}

impl Accounting {
    /// The word in a record.
    pub fn name(self) -> &'static str {
        match self {
            Accounting::Version1 => "cgroup v1",
            Accounting::Version2 => "cgroup v2",
            Accounting::Rusage => "rusage",
        }
    }
}

/// The groups of one run; dropping it removes them.
#[derive(Debug)]
pub struct Groups {
    pub accounting: Accounting,
    /// Folders of this run, one in each hierarchy.
    roots: Vec<Root>,
    nodes: BTreeMap<String, Group>,
    /// Of version 2: the group of this process, where it was this run that had memory counted below it.
    lent: Option<PathBuf>,
}

/// A folder of this run. The lock says that whoever made it is alive, to everybody who shares the hierarchy.
#[derive(Debug)]
struct Root {
    folder: PathBuf,
    _alive: Flock<File>,
}

/// The group of a node: a folder in each hierarchy.
#[derive(Debug, Clone)]
pub struct Group {
    accounting: Accounting,
    folders: Vec<PathBuf>,
}

/// A mounted hierarchy in which this process has a group.
struct Hierarchy {
    folder: PathBuf,
    controllers: Vec<String>,
    version: u8,
}

/// How the names of the groups of all players begin.
const PREFIX: &str = "gauntlet-";

/// The file of a group of version 2 that says what is counted in the groups below it.
const BELOW: &str = "cgroup.subtree_control";

/// More than any node takes: with a limit, whatever it is, version 1 counts the memory of sockets.
const NO_LIMIT_BYTES: &str = "1125899906842624";

impl Groups {
    /// Tries what the host allows, in folders named by `id`, which no other player has.
    pub fn open(id: &str) -> Groups {
        Self::open_below(Path::new("/"), id)
    }

    fn open_below(root: &Path, id: &str) -> Groups {
        let name = &format!("{PREFIX}{id}");
        let found = hierarchies(root);
        let of = |controller: &str| {
            found.iter().find(|it| it.version == 1 && it.controllers.iter().any(|it| it == controller))
        };
        if let Some(cpu) = of("cpuacct")
            && let Ok(own) = Root::make(&cpu.folder, name)
        {
            let mut roots = vec![own];
            roots.extend(of("memory").and_then(|memory| Root::make(&memory.folder, name).ok()));
            return Groups { accounting: Accounting::Version1, roots, nodes: BTreeMap::new(), lent: None };
        }
        if let Some(unified) = found.iter().find(|it| it.version == 2)
            && let Ok(own) = Root::make(&unified.folder, name)
        {
            // Refused where this process is in the very group, unless that is the root; memory is then not counted.
            let lent = lend(&unified.folder);
            let _ = fs::write(own.folder.join(BELOW), "+memory");
            let roots = vec![own];
            return Groups { accounting: Accounting::Version2, roots, nodes: BTreeMap::new(), lent };
        }
        Groups { accounting: Accounting::Rusage, roots: Vec::new(), nodes: BTreeMap::new(), lent: None }
    }

    /// The group of a node for which one was made.
    pub fn known(&self, node: &str) -> Option<&Group> {
        self.nodes.get(node)
    }

    /// The group of a node, made when it is asked for first.
    ///
    /// # Errors
    /// The host refuses a folder.
    pub fn of(&mut self, node: &str) -> std::io::Result<Group> {
        if let Some(known) = self.nodes.get(node) {
            return Ok(known.clone());
        }
        let made = self.roots.iter().map(|root| made(&root.folder, node));
        let folders = made.collect::<std::io::Result<Vec<_>>>()?;
        for folder in &folders {
            let _ = fs::write(folder.join("memory.kmem.tcp.limit_in_bytes"), NO_LIMIT_BYTES);
        }
        let group = Group { accounting: self.accounting, folders };
        self.nodes.insert(node.to_owned(), group.clone());
        Ok(group)
    }
}

impl Drop for Groups {
    fn drop(&mut self) {
        let own = self.nodes.values().flat_map(|group| &group.folders);
        for folder in own.chain(self.roots.iter().map(|root| &root.folder)) {
            // One that is not empty yet is left to whoever looks after the host; nothing of a run depends on it.
            let _ = fs::remove_dir(folder);
        }
        if let Some(folder) = &self.lent {
            // The kernel refuses it while another player's groups below count memory: then it stays for them.
            let _ = fs::write(folder.join(BELOW), "-memory");
        }
    }
}

/// Has memory counted in the groups below one of version 2; the group, where that was not so before.
fn lend(folder: &Path) -> Option<PathBuf> {
    let file = folder.join(BELOW);
    let before = fs::read_to_string(&file).unwrap_or_default();
    let there = before.split_whitespace().any(|it| it == "memory");
    (!there && fs::write(file, "+memory").is_ok()).then(|| folder.to_owned())
}

impl Root {
    /// Makes one, and takes away those of players that were killed.
    fn make(parent: &Path, name: &str) -> std::io::Result<Root> {
        sweep(parent);
        let folder = made(parent, name)?;
        let alive = locked(&folder)?;
        Ok(Root { folder, _alive: alive })
    }
}

/// The lock of a folder, if nobody has it.
fn locked(folder: &Path) -> std::io::Result<Flock<File>> {
    Ok(Flock::lock(File::open(folder)?, FlockArg::LockExclusiveNonblock).map_err(|(_, errno)| errno)?)
}

/// Takes away the groups of players that are no more.
fn sweep(parent: &Path) {
    let folders = |of: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(of).into_iter().flatten().flatten();
        entries.filter(|it| it.file_type().is_ok_and(|kind| kind.is_dir())).map(|it| it.path()).collect()
    };
    let named =
        |it: &PathBuf| it.file_name().is_some_and(|name| name.as_bytes().starts_with(PREFIX.as_bytes()));
    for root in folders(parent).iter().filter(|it| named(it)) {
        if let Ok(_nobody) = locked(root) {
            for folder in folders(root).iter().chain([root]) {
                let _ = fs::remove_dir(folder);
            }
        }
    }
}

impl Group {
    /// Puts the calling process into the group, with all that it starts from now on. Allocates nothing, so that it may be
    /// called between fork and exec.
    pub fn enter(procs: &[CString]) -> std::io::Result<()> {
        for file in procs {
            // SAFETY: a path that ends with a zero, and a buffer of one byte with its length.
            unsafe {
                let fd = libc::open(file.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
                if fd < 0 {
                    return Err(std::io::Error::last_os_error());
                }
                let written = libc::write(fd, b"0".as_ptr().cast(), 1);
                let error = std::io::Error::last_os_error();
                libc::close(fd);
                if written < 0 {
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// The files through which processes enter the group.
    pub fn procs(&self) -> Vec<CString> {
        self.folders.iter().filter_map(|folder| procs(folder)).collect()
    }

    /// CPU time of all its processes so far.
    pub fn cpu_ns(&self) -> Option<u64> {
        match self.accounting {
            Accounting::Version1 => self.number("cpuacct.usage"),
            Accounting::Version2 => Some(self.entry("cpu.stat", "usage_usec")? * 1000),
            Accounting::Rusage => None,
        }
    }

    /// Most memory of its processes at once.
    pub fn peak_memory_bytes(&self) -> Option<u64> {
        match self.accounting {
            Accounting::Version1 => self.number("memory.max_usage_in_bytes"),
            Accounting::Version2 => self.number("memory.peak"),
            Accounting::Rusage => None,
        }
    }

    /// Memory of its sockets in the kernel: the most at once (version 1), or what it is now (version 2).
    pub fn socket_memory_bytes(&self) -> Option<u64> {
        match self.accounting {
            Accounting::Version1 => self.number("memory.kmem.tcp.max_usage_in_bytes"),
            Accounting::Version2 => self.entry("memory.stat", "sock"),
            Accounting::Rusage => None,
        }
    }

    /// Whether the most memory of sockets has to be looked for all the time.
    pub fn keeps_no_peak_of_sockets(&self) -> bool {
        self.accounting == Accounting::Version2
    }

    fn text(&self, name: &str) -> Option<String> {
        self.folders.iter().find_map(|folder| fs::read_to_string(folder.join(name)).ok())
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.text(name)?.trim().parse().ok()
    }

    fn entry(&self, name: &str, key: &str) -> Option<u64> {
        let text = self.text(name)?;
        text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' ')?.trim().parse().ok())
    }
}

fn made(parent: &Path, name: &str) -> std::io::Result<PathBuf> {
    let folder = parent.join(name);
    fs::create_dir(&folder)?;
    // Making a folder is allowed in more places than entering it.
    if admits(&folder) {
        return Ok(folder);
    }
    let _ = fs::remove_dir(&folder);
    Err(std::io::ErrorKind::Unsupported.into())
}

/// Whether a process of ours may enter a group: one that ends at once tries it.
fn admits(folder: &Path) -> bool {
    let procs = procs(folder);
    // SAFETY: the child calls what allocates and locks nothing, and ends.
    match unsafe { fork() } {
        Ok(ForkResult::Child) => {
            let entered = procs.is_some_and(|file| Group::enter(std::slice::from_ref(&file)).is_ok());
            // SAFETY: ends this process without the player's own last deeds.
            unsafe { libc::_exit(i32::from(!entered)) }
        }
        Ok(ForkResult::Parent { child }) => {
            matches!(waitpid(child, None), Ok(WaitStatus::Exited(_, 0)))
        }
        Err(_) => false,
    }
}

/// The file through which processes enter the group of a folder.
fn procs(folder: &Path) -> Option<CString> {
    CString::new(folder.join("cgroup.procs").into_os_string().into_vec()).ok()
}

/// The hierarchies that are mounted, each with the group of this process in it.
fn hierarchies(root: &Path) -> Vec<Hierarchy> {
    let own = fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    let mounts = fs::read_to_string(root.join("proc/self/mountinfo")).unwrap_or_default();
    let mut found = Vec::new();
    for mount in mounts.lines() {
        let Some((before, behind)) = mount.split_once(" - ") else { continue };
        let (fields, kind): (Vec<&str>, Vec<&str>) =
            (before.split(' ').collect(), behind.split(' ').collect());
        let version = match kind.first() {
            Some(&"cgroup") => 1,
            Some(&"cgroup2") => 2,
            _ => continue,
        };
        let (Some(mount_root), Some(place), Some(options)) = (fields.get(3), fields.get(4), kind.get(2))
        else {
            continue;
        };
        let controllers: Vec<String> =
            if version == 1 { options.split(',').map(str::to_owned).collect() } else { Vec::new() };
        let group = own.lines().find_map(|line| {
            let mut parts = line.splitn(3, ':').skip(1);
            let (names, path) = (parts.next()?, parts.next()?);
            let here = if version == 2 {
                names.is_empty()
            } else {
                !names.is_empty() && names.split(',').all(|name| controllers.iter().any(|it| it == name))
            };
            here.then_some(path)
        });
        let Some(group) = group else { continue };
        // In a container the mount may begin at the group itself, and the path be told from the host's root.
        let inside = group.strip_prefix(mount_root.trim_end_matches('/')).unwrap_or("");
        let folder = root.join(place.trim_start_matches('/')).join(inside.trim_start_matches('/'));
        found.push(Hierarchy { folder, controllers, version });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A host's files: `cgroup` and `mountinfo` of this process, and folders of hierarchies.
    struct Place(PathBuf);

    impl Place {
        fn new(name: &str, cgroup: &str, mountinfo: &str, folders: &[&str]) -> Place {
            let root = std::env::temp_dir().join(format!("gauntlet-groups-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&root);
            fs::create_dir_all(root.join("proc/self")).expect("a folder can be made");
            fs::write(root.join("proc/self/cgroup"), cgroup).expect("a file can be written");
            fs::write(root.join("proc/self/mountinfo"), mountinfo).expect("a file can be written");
            for folder in folders {
                fs::create_dir_all(root.join(folder)).expect("a folder can be made");
            }
            Place(root)
        }
    }

    impl Drop for Place {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn the_group_of_this_process_is_found_in_each_version() {
        let place = Place::new(
            "found",
            "3:cpu,cpuacct:/a\n2:memory:/docker/x/b\n0::/user/c\n",
            "30 1 0:1 / /cg/cpu rw - cgroup cgroup rw,cpu,cpuacct\n\
             31 1 0:2 /docker/x /cg/memory rw - cgroup cgroup rw,memory\n\
             32 1 0:3 / /cg/unified rw - cgroup2 cgroup2 rw\n\
             33 1 0:4 / /tmp rw - tmpfs tmpfs rw\n",
            &[],
        );
        let found = hierarchies(&place.0);
        let folders: Vec<PathBuf> = found.iter().map(|it| it.folder.clone()).collect();
        assert_eq!(folders, ["cg/cpu/a", "cg/memory/b", "cg/unified/user/c"].map(|it| place.0.join(it)));
        assert_eq!(found.iter().map(|it| it.version).collect::<Vec<_>>(), [1, 1, 2]);
    }

    #[test]
    fn a_host_that_allows_no_group_leaves_resource_usage() {
        // An ordinary folder gets no cgroup.procs.
        let place = Place::new("none", "0::/\n", "32 1 0:3 / /cg rw - cgroup2 cgroup2 rw\n", &["cg"]);
        let mut groups = Groups::open_below(&place.0, "1");
        assert_eq!(groups.accounting, Accounting::Rusage);
        assert!(!place.0.join("cg/gauntlet-1").exists(), "what was tried is gone");
        let group = groups.of("client").expect("there is nothing to make");
        assert_eq!(
            (group.cpu_ns(), group.peak_memory_bytes(), group.socket_memory_bytes()),
            (None, None, None)
        );
    }

    #[test]
    fn groups_of_players_that_were_killed_are_taken_away_and_others_stay() {
        let left = ["gauntlet-1/client", "gauntlet-1/server", "gauntlet-2/client", "others-1/a"];
        let place = Place::new("sweep", "", "", &left);
        let alive = locked(&place.0.join("gauntlet-2")).expect("nobody has it");
        sweep(&place.0);
        let there = |name: &str| place.0.join(name).exists();
        assert!(!there("gauntlet-1"));
        assert!(there("gauntlet-2/client") && there("others-1/a"));
        drop(alive);
        sweep(&place.0);
        assert!(!there("gauntlet-2"));
    }

    #[test]
    fn memory_is_counted_below_the_own_group_as_long_as_the_run_takes_and_no_longer() {
        let place = Place::new("lent", "", "", &["mine", "theirs"]);
        let file = |name: &str| place.0.join(name).join(BELOW);
        let text = |name: &str| fs::read_to_string(file(name)).expect("it is there");
        fs::write(file("mine"), "cpu pids\n").expect("it can be written");
        fs::write(file("theirs"), "cpu memory\n").expect("it can be written");
        for name in ["mine", "theirs"] {
            let groups = Groups {
                accounting: Accounting::Version2,
                roots: Vec::new(),
                nodes: BTreeMap::new(),
                lent: lend(&place.0.join(name)),
            };
            assert_eq!(groups.lent.is_some(), name == "mine");
            assert_eq!(text("mine"), if name == "mine" { "+memory" } else { "-memory" });
            drop(groups);
        }
        // An ordinary file keeps what was written last; the kernel's reads as what is in force.
        assert_eq!((text("mine").as_str(), text("theirs").as_str()), ("-memory", "cpu memory\n"));
    }

    #[test]
    fn the_files_of_either_version_are_read() {
        let place = Place::new("files", "", "", &["g"]);
        let write = |name: &str, text: &str| {
            fs::write(place.0.join("g").join(name), text).expect("it can be written")
        };
        for (name, text) in [("cpuacct.usage", "5\n"), ("cpu.stat", "usage_usec 7\nuser_usec 1\n")] {
            write(name, text);
        }
        for (name, text) in [("memory.max_usage_in_bytes", "11\n"), ("memory.peak", "13\n")] {
            write(name, text);
        }
        for (name, text) in
            [("memory.kmem.tcp.max_usage_in_bytes", "17\n"), ("memory.stat", "anon 1\nsock 19\nsocket 2\n")]
        {
            write(name, text);
        }
        let read = |accounting| {
            let group = Group { accounting, folders: vec![place.0.join("g")] };
            (group.cpu_ns(), group.peak_memory_bytes(), group.socket_memory_bytes())
        };
        assert_eq!(read(Accounting::Version1), (Some(5), Some(11), Some(17)));
        assert_eq!(read(Accounting::Version2), (Some(7000), Some(13), Some(19)));
        assert_eq!(read(Accounting::Rusage), (None, None, None));
    }
}

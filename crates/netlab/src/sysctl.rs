//! Kernel settings: written inside a namespace where the setting belongs to one, else once for the whole
//! kernel.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

use crate::Error;
use crate::error::Attempt;
use crate::namespace::Namespace;

/// Kernel settings by name, such as `net.ipv4.tcp_rmem`, with their values as text.
pub type Sysctls = BTreeMap<String, String>;

/// Writes a setting in the namespace of the calling thread. False if the setting does not belong to
/// network namespaces: then nothing is written.
pub(crate) fn set_in_namespace(name: &str, value: &str) -> Result<bool, Error> {
    let path = path(name)?;
    // Of all settings, `net` alone is another one in each network namespace: writing any other, whoever may do so would
    // write that of the whole kernel.
    if !name.starts_with("net.") {
        return Ok(false);
    }
    match fs::write(path, value) {
        Ok(()) => Ok(true),
        // A setting of the whole kernel is missing or read-only inside a namespace.
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::PermissionDenied) => Ok(false),
        Err(e) => Err(refused(name, value, &e)),
    }
}

/// Writes a setting of the whole kernel; called outside of every node's namespace.
pub(crate) fn set_globally(name: &str, value: &str) -> Result<(), Error> {
    fs::write(path(name)?, value).map_err(|e| refused(name, value, &e))
}

/// Those of some settings that cannot be made in a namespace, because they belong to the whole kernel, or it has not got
/// them. They are tried in a namespace of its own.
///
/// # Errors
/// [`Error::Spec`] for what is not the name of a setting or a value that the kernel does not take, [`Error::System`] if
/// there is no namespace to try them in.
pub fn not_in_namespaces(settings: &Sysctls) -> Result<Vec<(&str, &str)>, Error> {
    let mut left = Vec::new();
    Namespace::new()?.enter(|| {
        for (name, value) in settings {
            if !set_in_namespace(name, value)? {
                left.push((name.as_str(), value.as_str()));
            }
        }
        Ok::<(), Error>(())
    })??;
    Ok(left)
}

/// Reads a setting in the namespace of the calling thread, without the line's end.
///
/// # Errors
/// [`Error::Spec`] if the kernel has no such setting, [`Error::System`] if it cannot be read.
pub fn read(name: &str) -> Result<String, Error> {
    match fs::read_to_string(path(name)?) {
        Ok(value) => Ok(value.trim_end().to_owned()),
        Err(e) if e.kind() == ErrorKind::NotFound => Err(unknown(name)),
        Err(e) => Err(e).attempt(|| format!("cannot read the kernel setting {name}")),
    }
}

fn path(name: &str) -> Result<PathBuf, Error> {
    let parts: Vec<&str> = name.split('.').collect();
    if parts.len() < 2 || parts.iter().any(|part| part.is_empty() || part.contains('/')) {
        return Err(Error::Spec(format!(
            "sysctls: \"{name}\" is not the name of a kernel setting; write it as in net.ipv4.tcp_rmem"
        )));
    }
    Ok(PathBuf::from("/proc/sys").join(parts.join("/")))
}

fn unknown(name: &str) -> Error {
    Error::Spec(format!("sysctls: the kernel has no setting \"{name}\""))
}

fn refused(name: &str, value: &str, e: &std::io::Error) -> Error {
    if e.kind() != ErrorKind::NotFound {
        return Error::Spec(format!("sysctls: the kernel does not take \"{value}\" for {name}: {e}"));
    }
    // It says the same of a setting that it has not got and of a value that names what it has not got.
    if path(name).is_ok_and(|path| path.exists()) {
        return Error::Spec(format!("sysctls: the kernel has no \"{value}\" for {name}"));
    }
    unknown(name)
}

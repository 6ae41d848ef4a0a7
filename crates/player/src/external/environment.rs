//! What a program of the user's own is told, and where: environment variables and a folder that the ground gives.

use std::collections::BTreeMap;
use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use netlab::Network;
use serde_json::Value;
use transports::secure::{Pki, SERVER_NAME};

use super::process::Launch;
use super::role::Role;
use super::stack::Stack;
use super::variables::variable;
use crate::ends::{address, flow_seed, port};
use crate::failure::{Failure, Result};
use crate::ground::Enlist;
use crate::plan::Run;
use crate::record::QLOG;

/// Where programs are looked for (Debian's default PATH of root).
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

const RESULT: &str = "result.json";
const KEYS: &str = "keys.log";

/// What the programs of one flow have in common.
pub(super) struct Surroundings {
    folder: PathBuf,
    flow: String,
    app: String,
    app_params: Vec<(String, String)>,
    server: IpAddr,
    client: IpAddr,
    port: u16,
    seed: u64,
    limit_s: f64,
    keys: bool,
    qlog: bool,
}

impl Surroundings {
    /// `scratch` is the folder below which the flow gets one of its own.
    pub(super) fn new(
        run: &Run,
        index: usize,
        stack: &Stack,
        network: &Network,
        scratch: &Path,
    ) -> Result<Self> {
        let spec = &run.flows[index];
        let (server, client) = stack.nodes(spec);
        Ok(Self {
            folder: scratch.join(index.to_string()),
            flow: spec.id.clone(),
            app: spec.app.clone(),
            app_params: spec
                .app_params
                .iter()
                .filter_map(|(key, value)| Some((key.clone(), text(value)?)))
                .collect(),
            server: address(network, server)?,
            client: address(network, client)?,
            port: port(spec, index),
            seed: flow_seed(run.seed, index),
            limit_s: run.limit_s,
            keys: run.record.keys,
            qlog: run.record.qlog,
        })
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn result_file(&self, role: Role) -> PathBuf {
        side_folder(&self.folder, role).join(RESULT)
    }

    /// Address and port of the server, and the address of the client, whose port is its own affair.
    pub(super) fn endpoints(&self) -> (SocketAddr, SocketAddr) {
        (SocketAddr::new(self.server, self.port), SocketAddr::new(self.client, 0))
    }

    /// Makes the folders that the programs may use, empty but for certificates and keys.
    pub(super) fn make_folders(&self, stack: &Stack) -> Result<()> {
        let failed = |error: std::io::Error| {
            Failure::io(
                format_args!("make the folder {} of flow \"{}\"", self.folder.display(), self.flow),
                &error,
            )
        };
        if self.folder.exists() {
            fs::remove_dir_all(&self.folder).map_err(failed)?;
        }
        for role in [Role::Client, Role::Server] {
            fs::create_dir_all(side_folder(&self.folder, role).join(QLOG)).map_err(failed)?;
        }
        let pki = Pki::new(self.server, stack.fault).map_err(|error| Failure::new(error.to_string()))?;
        for (name, text) in pki.pem_files() {
            fs::write(self.folder.join(name), text).map_err(failed)?;
        }
        Ok(())
    }

    /// How the program of this role is to be started.
    pub(super) fn command(&self, stack: &Stack, role: Role, enlist: Enlist) -> Launch {
        let scratch = side_folder(&self.folder, role);
        let sends = stack.sender() == role;
        let uploads = (role == Role::Client) == sends;
        let path = |path: &Path| path.display().to_string();
        let mut ours: BTreeMap<&str, String> = BTreeMap::from([
            ("ROLE", role.name().to_owned()),
            ("FLOW", self.flow.clone()),
            ("APP", self.app.clone()),
            ("DIRECTION", if uploads { "upload" } else { "download" }.to_owned()),
            ("SERVER_ADDRESS", self.server.to_string()),
            ("CLIENT_ADDRESS", self.client.to_string()),
            ("PORT", self.port.to_string()),
            ("SERVER_NAME", SERVER_NAME.to_owned()),
            ("CA", path(&self.folder.join("ca.pem"))),
            ("CERTIFICATE", path(&self.folder.join(format!("{}.pem", role.name())))),
            ("KEY", path(&self.folder.join(format!("{}.key", role.name())))),
            ("SEED", self.seed.to_string()),
            ("RESULT", path(&self.result_file(role))),
            ("SCRATCH", path(&scratch)),
        ]);
        if self.keys {
            ours.insert("KEYLOG", path(&scratch.join(KEYS)));
        }
        if self.qlog {
            ours.insert("QLOG", path(&scratch.join(QLOG)));
        }
        let mut variables = BTreeMap::from([
            ("PATH".to_owned(), PATH.to_owned()),
            ("LANG".to_owned(), "C.UTF-8".to_owned()),
            ("HOME".to_owned(), path(&scratch)),
            ("TMPDIR".to_owned(), path(&scratch)),
        ]);
        let parameters = stack.parameters.iter().filter_map(|(key, value)| Some((key.clone(), text(value)?)));
        let told = self.app_params.iter().cloned().chain(parameters);
        variables.extend(told.map(|(key, value)| (variable(&key), value)));
        variables.extend(ours.into_iter().map(|(key, value)| (variable(key), value)));
        variables.extend(stack.environment.clone());
        Launch {
            role,
            argv: stack.argv(role).to_vec(),
            working_directory: stack.working_directory.clone(),
            variables,
            limit_s: self.limit_s,
            enlist,
        }
    }

    /// The keys of secure sessions that the programs logged, client first.
    pub(super) fn keys(&self) -> String {
        let file = |role| side_folder(&self.folder, role).join(KEYS);
        let logged = [Role::Client, Role::Server].map(file).into_iter();
        logged.filter_map(|file| fs::read_to_string(file).ok()).collect()
    }

    /// Keeps the qlog files that the programs wrote beside the record, those of each program in the order in which they
    /// were finished: `qlog/<flow>-<n>-<role>`, with their own extension.
    pub(super) fn keep_logs(&self, record: &Path) -> Result<()> {
        let failed = |error: std::io::Error| Failure::io("keep the qlog files of a flow", &error);
        for role in [Role::Client, Role::Server] {
            let mut written = Vec::new();
            for entry in fs::read_dir(side_folder(&self.folder, role).join(QLOG)).map_err(failed)? {
                let entry = entry.map_err(failed)?;
                written.push((
                    entry.metadata().and_then(|about| about.modified()).map_err(failed)?,
                    entry.path(),
                ));
            }
            written.sort();
            for (number, (_, file)) in written.iter().enumerate() {
                fs::create_dir_all(record.join(QLOG)).map_err(failed)?;
                let extension = file.extension().unwrap_or_default().to_string_lossy();
                let kept = format!("{}-{number}-{}.{extension}", self.flow, role.name());
                fs::copy(file, record.join(QLOG).join(kept)).map_err(failed)?;
            }
        }
        Ok(())
    }
}

/// Where one program of a flow leaves what it has to say.
fn side_folder(flow_folder: &Path, role: Role) -> PathBuf {
    flow_folder.join(role.name())
}

/// A parameter as the value of a variable: text and numbers as they are, lists and tables as JSON; null is no value.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

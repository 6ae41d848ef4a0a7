//! Makes a certificate for the server, with an authority that signed it: `gauntlet-web-certificate --help`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use web::Refusal;
use web::certificates::{Kind, make};
use web::tls::SERVER_NAME;

/// Writes ca.pem, server.pem and server.key, all with keys of one kind.
#[derive(Parser)]
#[command(version, name = "gauntlet-web-certificate")]
struct Arguments {
    /// The kind of the keys.
    kind: Kind,
    /// Where the files go; made if it is not there.
    #[arg(long)]
    folder: PathBuf,
    /// The server's name, beside 127.0.0.1 and ::1.
    #[arg(long, default_value = SERVER_NAME)]
    name: String,
}

fn main() -> ExitCode {
    let Arguments { kind, folder, name } = Arguments::parse();
    let made = make(kind, &name)
        .and_then(|identity| identity.write(&folder).map_err(|error| Refusal::of(folder.display(), error)));
    match made {
        Ok(()) => ExitCode::SUCCESS,
        Err(refusal) => {
            eprintln!("gauntlet-web-certificate: {refusal}");
            ExitCode::FAILURE
        }
    }
}

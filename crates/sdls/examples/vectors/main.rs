//! Makes and checks test vectors:
//!
//! ```text
//! cargo run -p sdls --example vectors -- own                 the library's own, as in vectors/own.json
//! cargo run -p sdls --example vectors -- fresh SEED COUNT    by chance
//! cargo run -p sdls --example vectors -- check FILE...       plays those of files; exit status 1 if one differs
//! ```

mod convert;
mod format;
mod fresh;
mod own;
mod procedures;
mod runner;
mod suites;

use std::error::Error;
use std::process::ExitCode;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["own"] => println!("{}", serde_json::to_string_pretty(&own::file())?),
        ["fresh", seed, count] => {
            println!("{}", serde_json::to_string(&fresh::file(seed.parse()?, count.parse()?))?);
        }
        ["check", files @ ..] if !files.is_empty() => {
            let mut differences = Vec::new();
            let mut played = 0;
            for path in files {
                let mut file: format::File = serde_json::from_str(&std::fs::read_to_string(path)?)?;
                played += file.vectors.len();
                differences.extend(file.vectors.iter_mut().flat_map(runner::play));
            }
            differences.iter().for_each(|difference| println!("{difference}"));
            println!("{played} vectors, {} differences", differences.len());
            return Ok(if differences.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE });
        }
        _ => {
            eprintln!("vectors own | fresh SEED COUNT | check FILE...");
            return Ok(ExitCode::from(2));
        }
    }
    Ok(ExitCode::SUCCESS)
}

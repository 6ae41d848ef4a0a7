//! Files over MsQuic, as client and as server of an external stack (docs/formats/external-stack.md).
//!
//! One connection for a flow. For each file the client opens a stream and sends how many bytes it wants, as a number
//! of eight bytes, most significant first; the server answers with as many zeros. What is not set here is as MsQuic
//! ships it.

mod client;
mod server;
mod task;

use std::process::ExitCode;

use task::{Failure, SOFTWARE, Task};

fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some("--version") {
        println!("{SOFTWARE}");
        return ExitCode::SUCCESS;
    }
    match Task::from_environment().and_then(|task| play(&task)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::from(match failure {
                Failure::Unsupported(_) => 127,
                Failure::Failed(_) => 1,
            })
        }
    }
}

fn play(task: &Task) -> Result<(), Failure> {
    if task.is_client { client::fetch_all(task) } else { server::serve(task) }
}

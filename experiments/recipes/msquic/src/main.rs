//! Files and uploads over MsQuic, as client and as server of an external stack (docs/formats/external-stack.md).
//!
//! One connection for a flow. On a stream the client sends how many bytes it wants, as a number of eight bytes, most
//! significant first, and behind it what it uploads; the server answers with as many zeros as are wanted. What is
//! not set here is as MsQuic ships it.

mod client;
mod server;
mod task;
mod zeros;

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
    if task.is_client { client::transfer(task) } else { server::serve(task) }
}

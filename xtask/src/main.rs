//! Checks and generators of the repository.
//!
//! `cargo xtask check` prints one line per problem and exits 1 when there is one. `cargo xtask generate` writes what
//! is made from the sources: the registry block of each failure page, `docs/failures.md`, `docs/conformance.md`,
//! `docs/configuration.md`.
//! Every check also runs as a test of this package, so `./test` needs no extra step.

mod arrows;
mod check;
mod configuration;
mod conformance;
mod deploying;
mod failures;
mod generate;
mod lints;
mod logging;
mod problem;
mod repo;
mod signals;
mod supply;

use std::process::ExitCode;

use anyhow::{Result, bail};

use repo::Repo;

#[expect(clippy::print_stderr, reason = "why the command could not run goes to the person who ran it")]
fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match run(&args) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the command. Answers whether all is well.
#[expect(clippy::print_stdout, reason = "the problems and the written files are this command's output")]
fn run(args: &[String]) -> Result<bool> {
    match args {
        [command] if command == "check" => {
            let problems = check::check(&Repo::here()?)?;
            for problem in &problems {
                println!("{problem}");
            }
            Ok(problems.is_empty())
        }
        [command] if command == "generate" => {
            for path in generate::generate(&Repo::here()?)? {
                println!("wrote {path}");
            }
            Ok(true)
        }
        _ => bail!("use `cargo xtask check` or `cargo xtask generate`"),
    }
}

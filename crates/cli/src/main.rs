//! The `redrive` command: the only place where settings are read and concrete things meet.

mod args;
mod bench;
mod command;
mod exit;
mod settings;
mod store;

use clap::Parser;

use args::{Args, Command};
use exit::Exit;

fn main() -> std::process::ExitCode {
    let args = Args::parse();
    let outcome = match args.command {
        Command::Serve(serve) => command::serve::run(&serve),
        Command::Migrate(database) => command::migrate::run(&database),
        Command::Bench(bench) => command::bench::run(&bench),
        Command::Explain { code } => command::explain::run(&code),
    };
    match outcome {
        Ok(()) => Exit::Done.into(),
        Err(stop) => stop.report(),
    }
}

//! The `redrive` command: the only place where settings are read and concrete things meet.

mod absence;
mod args;
mod bench;
mod builtin;
mod command;
mod convert;
mod counting;
mod demo;
mod doctor;
mod exit;
mod fetch;
mod local;
mod logs;
mod near_server;
mod panics;
mod sameness;
mod say;
mod settings;
mod signals;
mod store;
mod wiring;

use clap::Parser;
use redrive_gateway::PdfReader;

use args::{Args, Command};
use exit::Exit;

fn main() -> std::process::ExitCode {
    // A process that reads one file for the gateway is this program too, and nothing else of it.
    if let Some(code) = redrive_gateway::cage::maybe_child(std::env::args_os(), PdfReader::default) {
        return code.into();
    }
    panics::tell_on_one_line();
    let args = Args::parse();
    let shared = &args.shared;
    let outcome = match args.command {
        Command::Serve(flags) => command::serve::run(shared, &flags),
        Command::Worker(flags) => command::worker::run(shared, &flags),
        Command::Demo(demo) => command::demo::run(shared, &demo),
        Command::Doctor(doctor) => command::doctor::run(shared, &doctor),
        Command::Gateway(gateway) => command::gateway::run(shared, &gateway),
        Command::Migrate(flags) => command::migrate::run(shared, &flags),
        Command::Bench(bench) => command::bench::run(&bench),
        Command::Convert(convert) => command::convert::run(shared, &convert),
        Command::Fetch(fetch) => command::fetch::run(shared, &fetch),
        Command::Intake(intake) => command::intake::run(shared, &intake),
        Command::Jobs(jobs) => command::jobs::run(shared, &jobs),
        Command::Dead(dead) => command::dead::run(shared, &dead),
        Command::Groups(groups) => command::groups::run(shared, &groups),
        Command::Replays(replays) => command::replays::run(shared, &replays),
        Command::Breakers(breakers) => command::breakers::run(shared, &breakers),
        Command::Workers(workers) => command::workers::run(shared, &workers),
        Command::Simulate(simulate) => command::simulate::run(shared, &simulate),
        Command::Digest(digest) => command::digest::run(shared, &digest),
        Command::Notifications(what) => command::notifications::run(shared, &what),
        Command::Tokens(what) => command::tokens::run(shared, &what),
        Command::Explain(explain) => command::explain::run(shared, &explain),
        Command::Config(config) => command::config::run(shared, &config),
        Command::Openapi => command::shell::openapi(),
        Command::Completions { shell } => command::shell::completions(shell),
        Command::Man { out } => command::shell::man(out.as_deref()),
    };
    match outcome {
        Ok(()) => Exit::Done.into(),
        Err(stop) => stop.report(),
    }
}

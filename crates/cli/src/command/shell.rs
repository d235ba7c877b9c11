//! What is made from the command line itself: completions and the man page; and the API's document.

use std::io::Write;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::args::Args;
use crate::exit::{Exit, Stop};

/// `redrive completions SHELL`.
pub(crate) fn completions(shell: Shell) -> Result<(), Stop> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "redrive", &mut text);
    Ok(std::io::stdout().write_all(&text)?)
}

/// `redrive man`.
pub(crate) fn man() -> Result<(), Stop> {
    let mut text = Vec::new();
    clap_mangen::Man::new(Args::command()).render(&mut text)?;
    Ok(std::io::stdout().write_all(&text)?)
}

/// `redrive openapi`.
pub(crate) fn openapi() -> Result<(), Stop> {
    let text = serde_json::to_string_pretty(&redrive_server::openapi());
    let text = text.map_err(|error| Stop::new(Exit::Failed, error.to_string()))?;
    Ok(writeln!(std::io::stdout(), "{text}")?)
}

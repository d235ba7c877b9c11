//! What is made from the command line itself: completions and the manual; and the API's document.

use std::path::Path;

use clap::{Command, CommandFactory};
use clap_complete::Shell;

use crate::args::Args;
use crate::exit::{Exit, Stop};
use crate::say;

/// `redrive completions SHELL`.
pub(crate) fn completions(shell: Shell) -> Result<(), Stop> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "redrive", &mut text);
    say::bytes(&text)
}

/// `redrive man`: one page for each command, all of them, because each names its commands' pages.
pub(crate) fn man(out: Option<&Path>) -> Result<(), Stop> {
    let mut whole = Args::command().disable_help_subcommand(true);
    whole.build();
    let mut pages = Vec::new();
    gather(whole, &mut pages)?;
    let Some(folder) = out else {
        return pages.iter().try_for_each(|(_, page)| say::bytes(page));
    };
    let failed = |path: &Path, error: std::io::Error| {
        Stop::new(Exit::Failed, format!("cannot write {}: {error}", path.display()))
    };
    std::fs::create_dir_all(folder).map_err(|error| failed(folder, error))?;
    for (name, page) in pages {
        let path = folder.join(name);
        std::fs::write(&path, page).map_err(|error| failed(&path, error))?;
    }
    Ok(())
}

/// The page of a command, and then those of its commands.
fn gather(command: Command, pages: &mut Vec<(String, Vec<u8>)>) -> std::io::Result<()> {
    let below: Vec<Command> = command.get_subcommands().filter(|one| !one.is_hide_set()).cloned().collect();
    let (man, mut text) = (clap_mangen::Man::new(command), Vec::new());
    man.render(&mut text)?;
    pages.push((man.get_filename(), text));
    below.into_iter().try_for_each(|one| gather(one, pages))
}

/// `redrive openapi`.
pub(crate) fn openapi() -> Result<(), Stop> {
    let text = serde_json::to_string_pretty(&redrive_server::openapi());
    let text = text.map_err(|error| Stop::new(Exit::Failed, error.to_string()))?;
    say::line(&text)
}

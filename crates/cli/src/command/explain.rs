//! `redrive explain CODE`: the registry's row as text.

use redrive_model::failure::REGISTRY;
use redrive_model::{Code, text};

use crate::exit::{Exit, Stop};

#[expect(clippy::print_stdout, reason = "the answer is the command's output")]
pub(crate) fn run(name: &str) -> Result<(), Stop> {
    let Some(code) = Code::parse(&name.to_ascii_uppercase()) else { return Err(unknown(name)) };
    let entry = code.entry();
    println!("{}  ({}, {})", entry.name, entry.category, entry.class);
    if entry.public != code {
        println!("shown outside as: {}", entry.public);
    }
    println!("what happened:    {}", entry.what_happened);
    println!("what we do:       {}", entry.what_we_do);
    println!("what you can do:  {}", entry.what_you_can_do);
    println!("retried:          {}", entry.retries);
    println!("HTTP status:      {}", entry.http_status);
    println!("page:             docs/failures/{}.md", entry.name);
    Ok(())
}

fn unknown(name: &str) -> Stop {
    let wanted = name.to_ascii_uppercase();
    let near = REGISTRY
        .iter()
        .map(|e| e.name)
        .filter(|known| known.contains(&wanted) || wanted.contains(known))
        .take(5);
    let near: Vec<&str> = near.collect();
    let hint = if near.is_empty() {
        "see docs/failures.md".to_owned()
    } else {
        format!("did you mean {}?", near.join(", "))
    };
    let name = text::one_line(name, 64, false);
    Stop::new(Exit::NotFound, format!("no failure code is called {name:?}: {hint}"))
}

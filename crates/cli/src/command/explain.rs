//! `redrive explain CODE|JOB`: the registry's row as text, or why a job is where it is and what comes next.

use redrive_api::FailureEntry;
use redrive_api::client::Client;
use redrive_model::failure::REGISTRY;
use redrive_model::{Code, JobId, text};

use crate::args::{Explain, Shared};
use crate::exit::{Exit, Stop};
use crate::logs::Usual;
use crate::{near_server, say, settings};

pub(crate) fn run(shared: &Shared, explain: &Explain) -> Result<(), Stop> {
    let what = explain.what.trim();
    if let Some(code) = Code::parse(&what.to_ascii_uppercase()) {
        return of_code(code, explain.json);
    }
    if what.parse::<JobId>().is_err() {
        return Err(unknown(what));
    }
    let values = settings::read(shared, &explain.flags, Usual::Warn)?;
    let client = near_server::client(&values)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(of_job(&client, what, explain.json))
}

async fn of_job(client: &Client, id: &str, json: bool) -> Result<(), Stop> {
    let why = client.explain(id).await?;
    if json {
        return say::json(&why);
    }
    let name = text::one_line_chars(why.job.filename.as_deref().unwrap_or("-"), 100);
    say::line(&format!("{}  {}  {name}", why.job.id, why.job.status))?;
    say::line(&format!("now:              {}", why.now))?;
    for (what, words) in [("what we do:", &why.what_we_do), ("what you can do:", &why.what_you_can_do)] {
        if let Some(words) = words {
            say::line(&format!("{what:<17} {words}"))?;
        }
    }
    for step in &why.past {
        let attempt = &step.attempt;
        let took = attempt.duration_ms.map_or_else(String::new, |ms| format!(" after {ms} ms"));
        let code = attempt.code.as_deref().map_or_else(String::new, |code| format!(", {code}"));
        let rule = step.rule.as_deref().map_or_else(String::new, |rule| format!(" ({rule})"));
        say::line(&format!("attempt {}:        {}{took}{code}{rule}", attempt.number, attempt.outcome))?;
    }
    Ok(())
}

fn of_code(code: Code, json: bool) -> Result<(), Stop> {
    let entry = code.entry();
    if json {
        return say::json(&FailureEntry::from(entry));
    }
    say::line(&format!("{}  ({}, {})", entry.name, entry.category, entry.class))?;
    if entry.public != code {
        say::line(&format!("shown outside as: {}", entry.public))?;
    }
    say::line(&format!("what happened:    {}", entry.what_happened))?;
    say::line(&format!("what we do:       {}", entry.what_we_do))?;
    say::line(&format!("what you can do:  {}", entry.what_you_can_do))?;
    say::line(&format!("retried:          {}", entry.retries))?;
    say::line(&format!("HTTP status:      {}", entry.http_status))?;
    say::line(&format!("page:             docs/failures/{}.md", entry.name))
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

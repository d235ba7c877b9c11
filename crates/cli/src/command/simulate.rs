//! `redrive simulate`: what another retry policy would have made of what has happened. Nothing is changed.

use std::io::Read;
use std::path::Path;

use redrive_api::{Simulate as Asked, Simulated, TriedPolicy};
use serde_json::Value;
use toml_edit::{Item, TableLike, Value as Toml};

use super::asking::ask;
use crate::args::{Shared, Simulate};
use crate::exit::{Exit, Stop};
use crate::say;

pub(crate) fn run(shared: &Shared, simulate: &Simulate) -> Result<(), Stop> {
    let wanted = Asked {
        workload: simulate.workload.clone(),
        policy: policy(&simulate.policy)?,
        since: Some(simulate.since),
    };
    ask(shared, &simulate.flags, async |client| {
        let simulated = client.simulate(&wanted).await?;
        if simulate.json { say::json(&simulated) } else { show(&simulated) }
    })
}

fn policy(path: &Path) -> Result<TriedPolicy, Stop> {
    let named = path.display().to_string();
    let text = if named == "-" {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).map(|_| text)
    } else {
        std::fs::read_to_string(path)
    };
    let text = text.map_err(|error| {
        let exit = match error.kind() {
            std::io::ErrorKind::NotFound => Exit::NotFound,
            _ => Exit::Failed,
        };
        Stop::new(exit, format!("cannot read {named}: {error}"))
    })?;
    read(&text).map_err(|why| Stop::new(Exit::Usage, format!("{named} is no policy: {why}")))
}

/// JSON begins with a brace; everything else is TOML.
fn read(text: &str) -> Result<TriedPolicy, String> {
    let value = if text.trim_start().starts_with('{') {
        serde_json::from_str(text).map_err(|error| error.to_string())?
    } else {
        let document: toml_edit::DocumentMut = text.parse().map_err(|error| format!("{error}"))?;
        table(document.as_table())?
    };
    serde_json::from_value(value).map_err(|error| error.to_string())
}

fn table(of: &dyn TableLike) -> Result<Value, String> {
    of.iter().map(|(name, item)| Ok((name.to_owned(), item_of(name, item)?))).collect()
}

fn item_of(name: &str, item: &Item) -> Result<Value, String> {
    if let Some(inner) = item.as_table_like() {
        return table(inner);
    }
    match item.as_value() {
        Some(Toml::String(text)) => Ok(text.value().as_str().into()),
        Some(Toml::Integer(number)) => Ok((*number.value()).into()),
        Some(Toml::Float(number)) => Ok((*number.value()).into()),
        Some(Toml::Boolean(yes)) => Ok((*yes.value()).into()),
        Some(Toml::Datetime(_) | Toml::Array(_) | Toml::InlineTable(_)) | None => {
            Err(format!("`{name}` is no text, number, yes or no, or table"))
        }
    }
}

fn show(simulated: &Simulated) -> Result<(), Stop> {
    let Simulated { jobs, same, lost, tried_longer, given_up_earlier, attempts, saved, by_code } = simulated;
    for (number, words) in [
        (jobs, "jobs were looked at"),
        (same, "would have ended the same"),
        (lost, "completed, and would have been given up before"),
        (tried_longer, "failed, and would have been tried again: how that ends nobody knows"),
        (given_up_earlier, "failed, and would have been given up earlier"),
        (attempts, "executions in truth"),
        (saved, "executions would have been saved"),
    ] {
        say::line(&format!("{number:>8}  {words}"))?;
    }
    for (code, number) in by_code {
        say::line(&format!("{number:>8}  would have been given up with {code}"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_is_the_same_as_toml_and_as_json() {
        let toml = "preset = \"stepped\"\nmax_attempts = 5 # more\ndeadline_sec = 0.5\nretry_all = true\n[code_caps]\nGW_TIMEOUT = 1\n";
        let json = r#" {"preset": "stepped", "max_attempts": 5, "deadline_sec": 0.5, "retry_all": true, "code_caps": {"GW_TIMEOUT": 1}}"#;
        let read_ = read(toml).unwrap();
        assert_eq!(read_, read(json).unwrap());
        assert_eq!((read_.max_attempts, read_.code_caps.get("GW_TIMEOUT")), (Some(5), Some(&1)));
        assert_eq!(read("code_caps = { GW_5XX = 2 }").unwrap().code_caps.len(), 1);
        assert_eq!(read("").unwrap(), TriedPolicy::default());
    }

    #[test]
    fn what_is_no_policy_is_refused_by_name() {
        for (text, word) in
            [("max_atempts = 5", "max_atempts"), ("preset = [1]", "preset"), ("{", "EOF"), ("= 3", "key")]
        {
            let why = read(text).unwrap_err();
            assert!(why.contains(word), "{text}: {why}");
        }
    }
}

//! `docs/configuration.md`: every setting, from the table that the command reads.

// The command is a binary that nothing links; its table is plain data, so the same file is read here.
#[path = "../../../crates/cli/src/settings/table.rs"]
mod table;

use anyhow::Result;

use crate::problem::Problem;
use crate::repo::Repo;
use table::{CLIENT, CONVERT, FETCH, GATEWAY, LOGS, SECTIONS, SERVE, STORE, Setting, WORKER};

const PATH: &str = "docs/configuration.md";

const INTRO: &str = "\
# Configuration

Flags win over the environment, the environment over `redrive.toml`, and `redrive.toml` over defaults.
Nothing has to be set.
This page is written by `cargo xtask generate`.

| Where | How `RETRY_MAX_ATTEMPTS` is written |
|---|---|
| flag | `--retry-max-attempts 5`, on the commands that use it; `redrive serve --help` lists them. Secrets have no flag |
| environment | `RETRY_MAX_ATTEMPTS=5`; an empty value counts as unset |
| `redrive.toml` | `retry_max_attempts = 5`; upper case works too |

`redrive.toml` is read from the current folder, or from where `--config FILE` or `REDRIVE_CONFIG` says.
Relative paths in it start at the current folder, as everywhere.
A list is an array or a text with commas.
A key that is no setting is an error with its line and, where one is near, the name that was probably meant.
A variable of the environment that is nearly one of ours is warned about.

| Command | Does |
|---|---|
| `redrive config show` | prints each value with its origin (`store`: changed at run time, which wins; `flag`, `env`, `file` with its line, `default`), secrets masked; `--json` gives one object per line |
| `redrive config check` | says everything that is wrong at once; exit 0 or 2 |
| `redrive config init` | writes a `redrive.toml` with every setting, commented out; never overwrites one (exit 5) |

A wrong value stops a command that uses it with exit 2, and with its name, its value, where it came from and what is accepted.
Settings whose name ends in `_DAYS`, `_SEC` or `_MS` take fractions, so that a day can be tried in a second.
\"Not used yet\" are known names of parts that are still to come: they are accepted, and it is warned that they do nothing.
";

/// The page with its path.
pub(crate) fn page() -> (String, String) {
    let mut text = INTRO.to_owned();
    for section in SECTIONS {
        let rows: String = section.settings.iter().map(row).collect();
        text.push_str(&format!(
            "\n## {}\n\n| Name | Default | Accepts | What it is | Used by |\n|---|---|---|---|---|\n{rows}",
            section.title
        ));
    }
    (PATH.to_owned(), text)
}

/// The name of every setting.
pub(crate) fn names() -> Vec<&'static str> {
    SECTIONS.iter().flat_map(|section| section.settings).map(|setting| setting.name).collect()
}

/// Finds a stale page.
pub(crate) fn check(repo: &Repo) -> Result<Vec<Problem>> {
    let (path, text) = page();
    let current = repo.read(&path)?.as_deref() == Some(text.as_str());
    let stale = || Problem::at(path, "is stale; run `cargo xtask generate`");
    Ok(if current { Vec::new() } else { vec![stale()] })
}

fn row(setting: &Setting) -> String {
    let default = if setting.default.is_empty() {
        format!("unset: {}", setting.unset)
    } else {
        format!("`{}`", setting.default)
    };
    let secret = if setting.secret { " (secret)" } else { "" };
    let (name, words, about) = (setting.name, setting.kind.words(), setting.about);
    format!("| `{name}` | {default} | {words} | {about}{secret} | {} |\n", users(setting))
}

fn users(setting: &Setting) -> String {
    let named = [
        (LOGS, "every command"),
        (SERVE, "serve"),
        (WORKER, "worker"),
        (CONVERT, "convert"),
        (FETCH, "fetch"),
        (GATEWAY, "gateway"),
        (STORE, "migrate"),
        (CLIENT, "commands that ask a server"),
    ];
    let users: Vec<&str> =
        named.iter().filter(|(bit, _)| setting.used & bit != 0).map(|(_, who)| *who).collect();
    if users.is_empty() { "nobody yet".to_owned() } else { users.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::assert_none;
    use crate::repo::Scratch;

    #[test]
    fn the_page_is_current() {
        assert_none(&check(&Repo::here().unwrap()).unwrap());
    }

    #[test]
    fn every_setting_has_one_row_and_a_name_of_its_own() {
        let (_, text) = page();
        for setting in SECTIONS.iter().flat_map(|section| section.settings) {
            assert_eq!(text.matches(&format!("\n| `{}` |", setting.name)).count(), 1, "{}", setting.name);
        }
    }

    #[test]
    fn a_missing_and_a_stale_page_are_found() {
        let repo = Scratch::new("configuration");
        assert_eq!(check(&repo).unwrap().len(), 1);
        let (path, text) = page();
        repo.write_if_changed(&path, &text.replace("52428800", "1")).unwrap();
        assert_eq!(
            check(&repo).unwrap()[0].to_string(),
            "docs/configuration.md: is stale; run `cargo xtask generate`"
        );
    }
}

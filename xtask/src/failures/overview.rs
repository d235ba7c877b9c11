//! `docs/failures.md`: every code on one page, a table per category.

use anyhow::Result;
use redrive_model::failure::{Category, Entry, REGISTRY};

use super::words;
use crate::problem::Problem;
use crate::repo::Repo;

const PATH: &str = "docs/failures.md";

const INTRO: &str = "\
# Failures

Every failure in Redrive has one of these codes.
The code decides whether a job is retried, what an API answers, and which sentence people see.
A code's page says when it is recorded, what causes it, what to look at and what to do; `redrive explain NAME` shows
the same page.
Where the public code differs from the code, people outside see the public one and operators see both.
This page is written by `cargo xtask generate`.
";

/// The page with its path.
pub(crate) fn overview() -> (String, String) {
    let mut text = INTRO.to_owned();
    for &category in Category::ALL {
        text.push_str(&section(category));
    }
    (PATH.to_owned(), text)
}

/// Finds a stale overview.
pub(crate) fn check(repo: &Repo) -> Result<Vec<Problem>> {
    let (path, text) = overview();
    let current = repo.read(&path)?.as_deref() == Some(text.as_str());
    let stale = || Problem::at(path, "is stale; run `cargo xtask generate`");
    Ok(if current { Vec::new() } else { vec![stale()] })
}

fn section(category: Category) -> String {
    let mut title = category.to_string();
    if let Some(first) = title.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    let about = words::about(category);
    let rows: String = REGISTRY.iter().filter(|entry| entry.category == category).map(row).collect();
    format!(
        "\n## {title}\n\n{about}\n\n\
         | Code | Class | Retried | HTTP status | Public code | What happened |\n\
         |---|---|---|--:|---|---|\n{rows}"
    )
}

fn row(entry: &Entry) -> String {
    let Entry { name, class, public, http_status, what_happened, .. } = entry;
    let retried = words::retried(entry);
    format!(
        "| [{name}](failures/{name}.md) | {class} | {retried} | {http_status} | `{public}` | {what_happened} |\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::assert_none;
    use crate::repo::Scratch;

    #[test]
    fn the_overview_is_current() {
        assert_none(&check(&Repo::here().unwrap()).unwrap());
    }

    #[test]
    fn every_code_has_one_row_with_a_link() {
        let (_, text) = overview();
        for entry in REGISTRY {
            let start = format!("| [{0}](failures/{0}.md) |", entry.name);
            assert_eq!(text.matches(&start).count(), 1, "{}", entry.name);
        }
    }

    #[test]
    fn a_missing_and_a_stale_overview_are_found() {
        let repo = Scratch::new("overview");
        assert_eq!(check(&repo).unwrap().len(), 1);
        let (path, text) = overview();
        repo.write_if_changed(&path, &text.replace("| 502 |", "| 503 |")).unwrap();
        assert_eq!(
            check(&repo).unwrap()[0].to_string(),
            "docs/failures.md: is stale; run `cargo xtask generate`"
        );
    }
}

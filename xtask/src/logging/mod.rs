//! Every line of the log has its event, and `docs/logging.md` tells each of them with its level.

mod scan;

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};

use crate::problem::Problem;
use crate::repo::Repo;

const PAGE: &str = "docs/logging.md";

/// Events with the levels that they have.
type Events = BTreeMap<String, BTreeSet<String>>;

/// Finds lines without an event, and events that the page does not tell, tells wrongly, or invents.
pub(crate) fn check(repo: &Repo) -> Result<Vec<Problem>> {
    let page = told(&repo.read(PAGE)?.with_context(|| format!("{PAGE} is not there"))?);
    let (mut said, mut problems) = (Events::new(), Vec::new());
    for room in repo.names("crates")?.into_iter().filter(|room| room != "lab") {
        for file in repo.files_below(&format!("crates/{room}/src"), ".rs")? {
            for line in scan::lines(&repo.read(&file)?.unwrap_or_default()) {
                match line.event {
                    Some(event) => drop(said.entry(event).or_default().insert(line.level)),
                    None => {
                        problems.push(Problem::at(&file, format!("a {} line without an event", line.level)));
                    }
                }
            }
        }
    }
    for (event, levels) in &said {
        match page.get(event) {
            Some(told) if told == levels => {}
            Some(told) => problems.push(Problem::at(PAGE, format!("{event} is {levels:?}, not {told:?}"))),
            None => problems.push(Problem::at(PAGE, format!("{event} is not told"))),
        }
    }
    let invented = page.keys().filter(|event| !said.contains_key(*event));
    problems.extend(invented.map(|event| Problem::at(PAGE, format!("{event} is told, and nobody says it"))));
    Ok(problems)
}

/// The rows of the page whose first column has names with a point, and whose second has levels.
fn told(page: &str) -> Events {
    let mut events = Events::new();
    for row in page.lines().filter(|line| line.starts_with("| `")) {
        let mut columns = row.trim_matches('|').split('|');
        let names = columns.next().unwrap_or_default().split('`').skip(1).step_by(2);
        let levels: BTreeSet<String> =
            columns.next().unwrap_or_default().split(',').map(|level| level.trim().to_owned()).collect();
        if levels.iter().all(|level| scan::LEVELS.contains(&level.as_str())) {
            events.extend(names.map(|name| (name.to_owned(), levels.clone())));
        }
    }
    events
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::assert_none;
    use crate::repo::Scratch;

    #[test]
    fn every_line_has_an_event_that_the_page_tells() {
        assert_none(&check(&Repo::here().unwrap()).unwrap());
    }

    #[test]
    fn what_is_wrong_is_found_and_named() {
        let repo = Scratch::new("logging");
        let code =
            "tracing::warn!(event = \"a.b\"); tracing::info!(\"no\"); tracing::error!(event = \"c.d\");";
        repo.write_if_changed("crates/a/src/lib.rs", code).unwrap();
        repo.write_if_changed(PAGE, "| `a.b` | info | … |\n| `e.f` | warn | … |\n").unwrap();
        let lines: Vec<String> = check(&repo).unwrap().iter().map(ToString::to_string).collect();
        assert_eq!(
            lines,
            [
                "crates/a/src/lib.rs: a info line without an event",
                "docs/logging.md: a.b is {\"warn\"}, not {\"info\"}",
                "docs/logging.md: c.d is not told",
                "docs/logging.md: e.f is told, and nobody says it",
            ]
        );
    }
}

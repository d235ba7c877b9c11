//! The page itself: a table per group, with the functions found for each case.

use anyhow::Result;

use super::cases::{GROUPS, Group};
use super::scan::{Coverage, Place, scan};
use crate::problem::Problem;
use crate::repo::Repo;

const PATH: &str = "docs/conformance.md";

const INTRO: &str = "\
# Conformance

Each case is something that must hold on every store: what was promised to users (A, T, X), what must hold under the
faults of the fault matrix (M), and the laws of stores and engine (all others).
The test column names the functions that check it; – means that there is none yet.
A function belongs to a case when its name starts with the case's id, or when its doc comment says
`Also covers:` and the id.
This page is written by `cargo xtask generate`.
";

/// The page with its path.
pub(crate) fn page(repo: &Repo) -> Result<(String, String)> {
    Ok((PATH.to_owned(), render(&scan(repo)?)))
}

/// Finds a stale page, and doc lines that name a case that does not exist.
pub(crate) fn check(repo: &Repo) -> Result<Vec<Problem>> {
    let mut coverage = scan(repo)?;
    let mut problems = std::mem::take(&mut coverage.problems);
    if repo.read(PATH)?.as_deref() != Some(render(&coverage).as_str()) {
        problems.push(Problem::at(PATH, "is stale; run `cargo xtask generate`"));
    }
    Ok(problems)
}

fn render(coverage: &Coverage) -> String {
    let sections: String = GROUPS.iter().map(|group| section(group, coverage)).collect();
    format!("{INTRO}{sections}")
}

fn section(group: &Group, coverage: &Coverage) -> String {
    let rows = group.cases.iter().map(|(id, what)| {
        let places = coverage.places.get(id).map_or_else(|| "–".to_owned(), |places| list(places));
        format!("| {id} | {what} | {places} |\n")
    });
    format!(
        "\n## {}\n\n| Case | What must hold | Test |\n|---|---|---|\n{}",
        group.title,
        rows.collect::<String>()
    )
}

fn list(places: &[Place]) -> String {
    let links = places.iter().map(|Place { path, function }| format!("`{function}` in [{path}](../{path})"));
    links.collect::<Vec<_>>().join("<br>")
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

    /// Tests of what was promised to users cannot get lost.
    #[test]
    fn every_acceptance_check_has_a_test() {
        let coverage = scan(&Repo::here().unwrap()).unwrap();
        let acceptance = GROUPS.iter().find(|group| group.title == "Acceptance").unwrap();
        for (id, what) in acceptance.cases {
            assert!(coverage.places.contains_key(id), "{id} has no test: {what}");
        }
    }

    #[test]
    fn every_case_has_a_row_with_its_tests_or_a_dash() {
        let repo = Scratch::new("conformance-page");
        let source = "/// Also covers: C3.\nfn c1_limit() {}\nfn c1_limit_again() {}\n";
        repo.write_if_changed("crates/a/src/lib.rs", source).unwrap();
        let (_, text) = page(&repo).unwrap();
        let limit = "`c1_limit` in [crates/a/src/lib.rs](../crates/a/src/lib.rs)";
        let again = "`c1_limit_again` in [crates/a/src/lib.rs](../crates/a/src/lib.rs)";
        assert!(text.contains(&format!("limit | {limit}<br>{again} |\n")), "{text}");
        assert!(text.contains(&format!("clock | {limit} |\n")), "{text}");
        for (id, what) in GROUPS.iter().flat_map(|group| group.cases) {
            let tested = matches!(*id, "C1" | "C3");
            assert_eq!(text.contains(&format!("| {id} | {what} | – |\n")), !tested, "{id}");
        }
    }

    #[test]
    fn a_new_test_makes_the_page_stale() {
        let repo = Scratch::new("conformance-stale");
        let (path, text) = page(&repo).unwrap();
        repo.write_if_changed(&path, &text).unwrap();
        assert_none(&check(&repo).unwrap());
        repo.write_if_changed("crates/a/src/lib.rs", "fn c1_limit() {}\n").unwrap();
        let lines: Vec<String> = check(&repo).unwrap().iter().map(ToString::to_string).collect();
        assert_eq!(lines, ["docs/conformance.md: is stale; run `cargo xtask generate`"]);
    }
}

//! Writes everything that is made from the sources, and says what changed.

use anyhow::Result;

use crate::repo::Repo;
use crate::{conformance, failures};

/// Brings all generated text up to date. Answers with the paths that were not current before.
pub(crate) fn generate(repo: &Repo) -> Result<Vec<String>> {
    let mut written = Vec::new();
    for (path, text) in
        failures::pages(repo)?.into_iter().chain([failures::overview(), conformance::page(repo)?])
    {
        if repo.write_if_changed(&path, &text)? {
            written.push(path);
        }
    }
    Ok(written)
}

#[cfg(test)]
mod tests {
    use crate::problem::assert_none;
    use crate::repo::Scratch;
    use crate::{conformance, failures};

    #[test]
    fn generating_mends_every_stale_text_and_then_writes_nothing() {
        let repo = Scratch::new("generate");
        repo.write_if_changed("crates/a/src/lib.rs", "fn c1_limit() {}\n").unwrap();
        repo.write_if_changed("docs/failures.md", "stale\n").unwrap();
        assert!(super::generate(&repo).unwrap().contains(&"docs/failures.md".to_owned()));
        assert_none(&failures::check_overview(&repo).unwrap());
        assert_none(&conformance::check(&repo).unwrap());
        assert_eq!(super::generate(&repo).unwrap(), Vec::<String>::new());
    }
}

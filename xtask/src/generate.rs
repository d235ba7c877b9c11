//! Writes everything that is made from the sources, and says what changed.

use anyhow::Result;

use crate::repo::Repo;
use crate::{configuration, conformance, failures};

/// Brings all generated text up to date. Answers with the paths that were not current before.
pub(crate) fn generate(repo: &Repo) -> Result<Vec<String>> {
    let mut written = Vec::new();
    let single = [failures::overview(), conformance::page(repo)?, configuration::page()];
    for (path, text) in failures::pages(repo)?.into_iter().chain(single) {
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
    use crate::{configuration, conformance, failures};

    #[test]
    fn generating_mends_every_stale_text_and_then_writes_nothing() {
        let repo = Scratch::new("generate");
        repo.write_if_changed("crates/a/src/lib.rs", "fn c1_limit() {}\n").unwrap();
        repo.write_if_changed("docs/failures.md", "stale\n").unwrap();
        assert!(super::generate(&repo).unwrap().contains(&"docs/failures.md".to_owned()));
        assert_none(&failures::check_overview(&repo).unwrap());
        assert_none(&conformance::check(&repo).unwrap());
        assert_none(&configuration::check(&repo).unwrap());
        assert_eq!(super::generate(&repo).unwrap(), Vec::<String>::new());
    }
}

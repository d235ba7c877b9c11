//! All pages together: none missing, none too many, each in order, and no link into the void.

use anyhow::Result;
use redrive_model::Code;
use redrive_model::failure::REGISTRY;

use super::{FOLDER, page, path_of};
use crate::problem::Problem;
use crate::repo::Repo;

/// Every page as it should be, with its path.
pub(crate) fn pages(repo: &Repo) -> Result<Vec<(String, String)>> {
    let mut pages = Vec::new();
    for entry in REGISTRY {
        let path = path_of(entry.name);
        let text = page::renewed(entry, repo.read(&path)?.as_deref());
        pages.push((path, text));
    }
    Ok(pages)
}

/// Finds missing, surplus, stale and unfinished pages.
pub(crate) fn check(repo: &Repo) -> Result<Vec<Problem>> {
    let mut problems = Vec::new();
    for entry in REGISTRY {
        let path = path_of(entry.name);
        match repo.read(&path)? {
            None => problems.push(Problem::at(path, "is missing; run `cargo xtask generate`, then write it")),
            Some(text) => {
                problems
                    .extend(page::faults(entry, &text).into_iter().map(|fault| Problem::at(&path, fault)));
                let lost = page::links(&text).into_iter().filter(|link| !names_a_code(link));
                problems.extend(
                    lost.map(|link| Problem::at(&path, format!("links to {link}, which is no page"))),
                );
            }
        }
    }
    let surplus = repo.names(FOLDER)?.into_iter().filter(|name| !names_a_code(name));
    problems.extend(
        surplus.map(|name| Problem::at(format!("{FOLDER}/{name}"), "is the page of no code; remove it")),
    );
    Ok(problems)
}

fn names_a_code(file: &str) -> bool {
    file.strip_suffix(".md").is_some_and(|name| Code::parse(name).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::assert_none;
    use crate::repo::Scratch;

    #[test]
    fn every_code_has_its_page_and_every_page_its_code() {
        assert_none(&check(&Repo::here().unwrap()).unwrap());
    }

    #[test]
    fn a_missing_page_a_surplus_page_and_a_lost_link_are_found() {
        let repo = Scratch::new("pages");
        for (path, text) in pages(&repo).unwrap().into_iter().skip(1) {
            let sections = ["What it means", "Likely causes", "Check", "Act"];
            let text = sections
                .iter()
                .fold(text, |t, s| t.replace(&format!("## {s}\n"), &format!("## {s}\n\nText.\n")));
            repo.write_if_changed(&path, &text).unwrap();
        }
        repo.write_if_changed("docs/failures/GW_TELEPATHY.md", "# GW_TELEPATHY\n").unwrap();
        let path = path_of("EVENTS_GONE");
        let text = repo.read(&path).unwrap().unwrap();
        repo.write_if_changed(&path, &format!("{text}See [GONE](GONE.md).\n")).unwrap();
        let lines: Vec<String> = check(&repo).unwrap().iter().map(ToString::to_string).collect();
        assert_eq!(
            lines,
            [
                "docs/failures/NOT_PDF.md: is missing; run `cargo xtask generate`, then write it",
                "docs/failures/EVENTS_GONE.md: links to GONE.md, which is no page",
                "docs/failures/GW_TELEPATHY.md: is the page of no code; remove it",
            ]
        );
    }
}

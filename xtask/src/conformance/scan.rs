//! Finds the functions that test a case.
//!
//! A function covers a case when its name starts with the id, as `c1_a_claim_never_exceeds_its_limit` covers C1, or
//! when its doc comment has a line `/// Also covers: C12, U3.`

use std::collections::BTreeMap;

use anyhow::Result;

use super::cases;
use crate::problem::Problem;
use crate::repo::Repo;

/// `s3_…` usually speaks of the object store. Only these crates, which know none, mean case S3 by it.
const CRATES_WITHOUT_OBJECT_STORE: [&str; 2] = ["crates/store-conformance/", "crates/engine/"];

/// A function and its file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    /// The file, from the root.
    pub(super) path: String,
    /// The function's name.
    pub(super) function: String,
}

/// What the scan found.
#[derive(Debug, Default)]
pub(super) struct Coverage {
    /// Places by id, sorted.
    pub(super) places: BTreeMap<&'static str, Vec<Place>>,
    /// Lines that name a case that does not exist.
    pub(super) problems: Vec<Problem>,
}

/// Reads all sources and tests of all crates.
pub(super) fn scan(repo: &Repo) -> Result<Coverage> {
    let mut coverage = Coverage::default();
    for name in repo.names("crates")? {
        for folder in ["src", "tests"] {
            for path in repo.files_below(&format!("crates/{name}/{folder}"), ".rs")? {
                let text = repo.read(&path)?.unwrap_or_default();
                coverage.add_file(&path, &text);
            }
        }
    }
    for places in coverage.places.values_mut() {
        places.sort();
        places.dedup();
    }
    Ok(coverage)
}

impl Coverage {
    fn add_file(&mut self, path: &str, text: &str) {
        let mut also: Vec<&'static str> = Vec::new();
        for line in text.lines().map(str::trim) {
            if line.is_empty() {
                also.clear();
            } else if let Some(list) = line.strip_prefix("/// Also covers:") {
                for id in list.trim().trim_end_matches('.').split(',').map(str::trim) {
                    match cases::find(id) {
                        Some(id) => also.push(id),
                        None => self
                            .problems
                            .push(Problem::at(path, format!("no case is called {id:?}: `{line}`"))),
                    }
                }
            } else if let Some(function) = function_in(line) {
                let own = case_of(path, function);
                for id in own.into_iter().chain(also.drain(..)) {
                    let place = Place { path: path.to_owned(), function: function.to_owned() };
                    self.places.entry(id).or_default().push(place);
                }
            }
        }
    }
}

/// The name of the function that starts on this line.
fn function_in(line: &str) -> Option<&str> {
    let (before, after) = line.split_once("fn ")?;
    let is_qualifier = |word: &str| word.starts_with("pub") || matches!(word, "async" | "const" | "unsafe");
    if !before.split_whitespace().all(is_qualifier) {
        return None;
    }
    let end = after.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(after.len());
    after.get(..end)
}

fn case_of(path: &str, function: &str) -> Option<&'static str> {
    let id = cases::find(function.split_once('_')?.0)?;
    let by_name = id != "S3" || CRATES_WITHOUT_OBJECT_STORE.iter().any(|start| path.starts_with(start));
    by_name.then_some(id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repo::Scratch;

    fn found(path: &str, text: &str) -> Vec<String> {
        let mut coverage = Coverage::default();
        coverage.add_file(path, text);
        let places = coverage.places.iter();
        places
            .flat_map(|(id, places)| places.iter().map(move |place| format!("{id} {}", place.function)))
            .collect()
    }

    #[test]
    fn a_name_that_starts_with_an_id_covers_it() {
        let text = "
            pub async fn c1_limit(store: &dyn Store) {
            fn c11_late() {
            pub(crate) fn r13_crash<T>() {
            async fn o1_busy() {
            fn c1() {
            fn c99_nothing() {
            fn cover_c1_limit() {
            // fn c2_commented_out() {
            let f = fn_c3_not_a_function;
        ";
        assert_eq!(
            found("crates/a/src/lib.rs", text),
            ["C1 c1_limit", "C11 c11_late", "O1 o1_busy", "R13 r13_crash"]
        );
    }

    #[test]
    fn a_doc_line_covers_more_and_belongs_to_the_next_function_only() {
        let text = "
            /// Late results.
            /// Also covers: C12, U3.
            #[test]
            fn c11_late() {

            fn c4_order() {

            /// Also covers: K1.
            struct Unrelated;

            fn helper() {
        ";
        assert_eq!(
            found("crates/a/tests/it/main.rs", text),
            ["C11 c11_late", "C12 c11_late", "C4 c4_order", "U3 c11_late"]
        );
    }

    #[test]
    fn the_object_store_is_not_case_s3() {
        let text = "fn s3_put_is_retried() {}";
        assert_eq!(found("crates/blob/src/lib.rs", text), Vec::<String>::new());
        assert_eq!(found("crates/engine/src/lib.rs", text), ["S3 s3_put_is_retried"]);
        let text = "/// Also covers: S3.\nfn ticks() {}";
        assert_eq!(found("crates/blob/src/lib.rs", text), ["S3 ticks"]);
    }

    #[test]
    fn a_doc_line_with_an_unknown_id_is_found() {
        let mut coverage = Coverage::default();
        coverage.add_file("crates/a/src/lib.rs", "/// Also covers: C1, Z9.\nfn f() {}");
        let lines: Vec<String> = coverage.problems.iter().map(ToString::to_string).collect();
        assert_eq!(lines, ["crates/a/src/lib.rs: no case is called \"Z9\": `/// Also covers: C1, Z9.`"]);
    }

    #[test]
    fn sources_and_tests_of_all_crates_are_read() {
        let repo = Scratch::new("scan");
        for path in
            ["crates/b/tests/it/x.rs", "crates/a/src/x/y.rs", "crates/a/benches/z.rs", "other/src/lib.rs"]
        {
            repo.write_if_changed(path, "fn c1_limit() {}\nfn c1_limit() {}\n").unwrap();
        }
        let coverage = scan(&repo).unwrap();
        let paths: Vec<&str> = coverage.places["C1"].iter().map(|place| place.path.as_str()).collect();
        assert_eq!(paths, ["crates/a/src/x/y.rs", "crates/b/tests/it/x.rs"]);
    }
}

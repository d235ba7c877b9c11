//! The page of security rules names tests; each of them exists.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        match path.is_dir() {
            true if entry.file_name() != "target" => sources(&path, found),
            false if path.extension().is_some_and(|end| end == "rs") => found.push(path),
            true | false => {}
        }
    }
}

#[test]
fn every_test_that_the_page_of_security_rules_names_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = std::fs::read_to_string(root.join("docs/security.md")).unwrap();
    let rows = page.lines().filter(|line| line.starts_with('|'));
    let named: BTreeSet<&str> = rows
        .flat_map(|row| row.split('`').skip(1).step_by(2))
        .filter(|word| word.matches('_').count() >= 2 && !word.bytes().any(|byte| byte.is_ascii_uppercase()))
        .collect();
    assert!(named.len() > 80, "{}", named.len());
    let mut files = Vec::new();
    for room in ["crates", "xtask"] {
        sources(&root.join(room), &mut files);
    }
    let text: String = files.iter().map(|file| std::fs::read_to_string(file).unwrap()).collect();
    let missing: Vec<_> = named.iter().filter(|name| !text.contains(&format!("fn {name}("))).collect();
    assert!(missing.is_empty(), "no such test: {missing:#?}");
}

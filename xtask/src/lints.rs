//! Every member takes the workspace's lints: `[lints] workspace = true`. Without the line a crate may unwrap.

use std::fs;

use anyhow::{Context, Result};

use crate::arrows::Package;
use crate::problem::Problem;

/// Finds members that do not take the workspace's lints.
pub(crate) fn check(packages: &[Package]) -> Result<Vec<Problem>> {
    let mut problems = Vec::new();
    for package in packages {
        let path = &package.manifest;
        let manifest = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        if !takes_workspace_lints(&manifest) {
            problems
                .push(Problem::at(&package.name, "its Cargo.toml lacks `[lints]` with `workspace = true`"));
        }
    }
    Ok(problems)
}

/// Reads as much TOML as the question needs: the section, then the key. Cargo has refused broken files before.
fn takes_workspace_lints(manifest: &str) -> bool {
    let mut section = "";
    for line in manifest.lines() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.starts_with('[') {
            section = line;
        }
        let words: String = line.split_whitespace().collect();
        match section {
            "[lints]" if words == "workspace=true" => return true,
            "" if words == "lints.workspace=true" => return true,
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrows;
    use crate::problem::assert_none;
    use crate::repo::{Repo, Scratch};

    #[test]
    fn every_member_takes_the_workspace_lints() {
        assert_none(&check(&arrows::read(&Repo::here().unwrap()).unwrap()).unwrap());
    }

    #[test]
    fn a_member_without_the_line_is_found() {
        let repo = Scratch::new("lints");
        repo.write_if_changed("good/Cargo.toml", "[lints]\nworkspace = true\n").unwrap();
        repo.write_if_changed("bad/Cargo.toml", "[package]\nname = \"bad\"\n").unwrap();
        let member = |name: &str| Package {
            name: name.to_owned(),
            manifest: repo.path(&format!("{name}/Cargo.toml")),
            dependencies: Vec::new(),
        };
        let problems = check(&[member("good"), member("bad")]).unwrap();
        let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
        assert_eq!(lines, ["bad: its Cargo.toml lacks `[lints]` with `workspace = true`"]);
    }

    #[test]
    fn only_the_right_key_in_the_right_section_counts() {
        for (manifest, takes) in [
            ("[lints]\nworkspace = true", true),
            ("[lints] # as everywhere\nworkspace=true # yes", true),
            ("lints.workspace = true\n[package]", true),
            ("[lints]\nworkspace = false", false),
            ("[lints]\n# workspace = true", false),
            ("[lints]\n[dependencies]\nworkspace = true", false),
            ("[lints.clippy]\nworkspace = true", false),
            ("", false),
        ] {
            assert_eq!(takes_workspace_lints(manifest), takes, "{manifest}");
        }
    }
}

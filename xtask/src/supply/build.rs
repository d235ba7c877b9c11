//! Our own build: no unsafe code in any member, and arithmetic that is checked in what is released.

use anyhow::{Context, Result};
use toml_edit::{DocumentMut, Item};

use crate::problem::Problem;

/// Finds settings of the workspace that are not as they must be. That every member takes its lints is checked where lints are.
pub(super) fn check(path: &str, manifest: &str) -> Result<Vec<Problem>> {
    let manifest: DocumentMut = manifest.parse().context("Cargo.toml cannot be read")?;
    let at = |way: &[&str]| way.iter().try_fold(manifest.as_item(), |item, key| item.get(key));
    let mut problems = Vec::new();
    if at(&["workspace", "lints", "rust", "unsafe_code"]).and_then(Item::as_str) != Some("forbid") {
        problems.push(Problem::at(path, "[workspace.lints.rust] must say unsafe_code = \"forbid\""));
    }
    if at(&["profile", "release", "overflow-checks"]).and_then(Item::as_bool) != Some(true) {
        problems.push(Problem::at(path, "[profile.release] must say overflow-checks = true"));
    }
    // A handler that panics ends its attempt, not its worker.
    if at(&["profile", "release", "panic"]).and_then(Item::as_str).is_some_and(|panic| panic != "unwind") {
        problems.push(Problem::at(path, "[profile.release] must say panic = \"unwind\""));
    }
    Ok(problems)
}

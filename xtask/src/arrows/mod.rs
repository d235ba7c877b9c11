//! The house plan: which package may depend on which.
//!
//! [`read`] asks cargo for the packages, [`check`] compares them with the plan in `rooms.rs` and the outside
//! libraries in `outside.rs`. The check knows nothing of cargo, so each rule is tested on a made-up graph.

mod graph;
mod outside;
mod rooms;

use std::collections::BTreeSet;

use anyhow::{Context, Result};

pub(crate) use graph::Package;

use crate::problem::Problem;
use crate::repo::Repo;

/// The packages of the workspace with their direct dependencies.
pub(crate) fn read(repo: &Repo) -> Result<Vec<Package>> {
    let metadata = cargo_metadata::MetadataCommand::new()
        .manifest_path(repo.path("Cargo.toml"))
        .no_deps()
        .other_options(["--offline".to_owned()])
        .exec()
        .context("cargo metadata did not answer")?;
    Ok(metadata.workspace_packages().into_iter().map(Package::from).collect())
}

/// Finds arrows that are not drawn, packages that are not on the plan, and names that say nothing.
pub(crate) fn check(packages: &[Package]) -> Vec<Problem> {
    let members: BTreeSet<&str> = packages.iter().map(|package| package.name.as_str()).collect();
    let mut problems = Vec::new();
    for package in packages {
        problems.extend(name_says_nothing(&package.name));
        problems.extend(undrawn_arrows(package, &members));
        problems.extend(outside::check(package));
    }
    problems
}

fn name_says_nothing(name: &str) -> Option<Problem> {
    let word = ["utils", "common", "helpers"].into_iter().find(|word| name.contains(word))?;
    Some(Problem::at(
        name,
        format!("a package called *{word}* has no idea of its own; name it after what it decides"),
    ))
}

fn undrawn_arrows(package: &Package, members: &BTreeSet<&str>) -> Vec<Problem> {
    let Some(room) = rooms::find(&package.name) else {
        return vec![Problem::at(&package.name, "is not on the plan; add it to xtask/src/arrows/rooms.rs")];
    };
    let arrows = package.dependencies.iter().filter(|dependency| members.contains(dependency.name.as_str()));
    arrows
        .filter(|arrow| !room.allows(&arrow.name, arrow.kind))
        .map(|arrow| {
            let allowed = room.list(arrow.kind);
            let allowed = if allowed.is_empty() { "nothing".to_owned() } else { allowed.join(", ") };
            let kind = arrow.kind;
            let what = format!("the {kind} arrow to {} is not drawn; drawn: {allowed}", arrow.name);
            Problem::at(&package.name, what)
        })
        .collect()
}

#[cfg(test)]
mod tests;

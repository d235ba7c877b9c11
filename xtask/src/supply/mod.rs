//! What comes from outside: by `deny.toml` each package's licence, where it is from, and what must not be there; and the settings of our own
//! build that make it safe. It needs no network and no other tool.
//!
//! What `Cargo.lock` has is looked at for every platform. Licences stand in the manifests of the packages, so they are read of those that this
//! machine builds.

mod build;
mod licence;
mod lock;
mod rules;

use anyhow::{Context, Result};

use crate::problem::Problem;
use crate::repo::Repo;
use lock::Locked;
use rules::Rules;

const RULES: &str = "deny.toml";
const LOCK: &str = "Cargo.lock";
const MANIFEST: &str = "Cargo.toml";

/// A package and what it says about its licence.
#[derive(Debug, Clone)]
struct Licensed {
    name: String,
    licence: Option<String>,
}

/// Finds what `deny.toml` does not allow, and a build that is less safe than it was.
pub(crate) fn check(repo: &Repo) -> Result<Vec<Problem>> {
    let mut problems = check_files(repo)?;
    let rules = Rules::read(&text(repo, RULES)?)?;
    problems.extend(match licences(repo) {
        Ok(packages) => check_licences(&rules, &packages),
        Err(_) => vec![Problem::at(LOCK, "not all packages are on this machine: run `cargo fetch --locked`")],
    });
    Ok(problems)
}

/// What can be found out from files alone.
fn check_files(repo: &Repo) -> Result<Vec<Problem>> {
    let rules = Rules::read(&text(repo, RULES)?)?;
    let packages = lock::read(&text(repo, LOCK)?)?;
    let mut problems = check_packages(&rules, &packages);
    problems.extend(build::check(MANIFEST, &text(repo, MANIFEST)?)?);
    Ok(problems)
}

fn text(repo: &Repo, path: &str) -> Result<String> {
    repo.read(path)?.with_context(|| format!("{path} is not there"))
}

fn check_packages(rules: &Rules, packages: &[Locked]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for package in packages {
        let Locked { name, version, source, checksum } = package;
        match source {
            Some(source) if !rules.allows_source(source) => {
                problems.push(Problem::at(LOCK, format!("{name} {version} comes from {source}")));
            }
            Some(_) if !checksum => {
                problems.push(Problem::at(LOCK, format!("{name} {version} has no checksum")));
            }
            // Our own.
            Some(_) | None => {}
        }
        if rules.bans(name) {
            problems.push(Problem::at(LOCK, format!("{name} {version} must not be there: see {RULES}")));
        }
    }
    for name in rules.single() {
        let versions: Vec<&str> =
            packages.iter().filter(|package| package.name == name).map(|package| &*package.version).collect();
        if versions.len() > 1 {
            problems.push(Problem::at(LOCK, format!("{name} is there as {}", versions.join(" and "))));
        }
    }
    problems
}

fn check_licences(rules: &Rules, packages: &[Licensed]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for Licensed { name, licence } in packages {
        let what = match licence {
            None => "says nothing about its licence".to_owned(),
            Some(said) if licence::allows(said, |one| rules.allows_licence(name, one)) => continue,
            Some(said) => format!("its licence {said:?} is not allowed by {RULES}"),
        };
        problems.push(Problem::at(name, what));
    }
    problems
}

/// The licences of all that is built on this machine, ours too.
fn licences(repo: &Repo) -> Result<Vec<Licensed>> {
    let platform = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let options = ["--offline", "--locked", "--filter-platform", &platform].map(str::to_owned);
    let metadata = cargo_metadata::MetadataCommand::new()
        .manifest_path(repo.path(MANIFEST))
        .features(cargo_metadata::CargoOpt::AllFeatures)
        .other_options(options)
        .exec()
        .context("cargo metadata did not answer")?;
    let of = |package: cargo_metadata::Package| Licensed {
        name: package.name.to_string(),
        licence: package.license,
    };
    Ok(metadata.packages.into_iter().map(of).collect())
}

#[cfg(test)]
mod tests;

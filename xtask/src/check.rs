//! All checks, in the order in which people would mend what they find.

use anyhow::Result;

use crate::problem::Problem;
use crate::repo::Repo;
use crate::{arrows, configuration, conformance, deploying, failures, lints, logging, signals, supply};

/// Runs every check. An error means that a check could not run at all.
pub(crate) fn check(repo: &Repo) -> Result<Vec<Problem>> {
    let packages = arrows::read(repo)?;
    let mut problems = arrows::check(&packages);
    problems.extend(lints::check(&packages)?);
    problems.extend(failures::check_pages(repo)?);
    problems.extend(failures::check_overview(repo)?);
    problems.extend(conformance::check(repo)?);
    problems.extend(configuration::check(repo)?);
    problems.extend(signals::check(repo)?);
    problems.extend(logging::check(repo)?);
    problems.extend(deploying::check(repo)?);
    problems.extend(supply::check(repo)?);
    Ok(problems)
}

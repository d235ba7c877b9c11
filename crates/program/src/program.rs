//! A program that was found, and what it always runs with.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::error::ProgramError;
use crate::line::split;

/// A program with its first arguments and its whole environment. Nothing is run yet.
#[derive(Debug, Clone)]
pub struct Program {
    pub(crate) path: PathBuf,
    pub(crate) arguments: Vec<String>,
    pub(crate) environment: Vec<(String, String)>,
    pub(crate) called: &'static str,
}

impl Program {
    /// Reads a command line, with quotes where there are spaces, and finds the program by the `PATH` of the environment it is to have.
    /// `called` is what messages call it, such as `the handler`.
    pub fn find(
        line: &str,
        environment: Vec<(String, String)>,
        called: &'static str,
    ) -> Result<Self, ProgramError> {
        let mut words = split(line).ok_or(ProgramError::Line)?.into_iter();
        let name = words.next().filter(|name| !name.is_empty()).ok_or(ProgramError::Line)?;
        let folders = environment.iter().find(|(name, _)| name == "PATH").map(|(_, path)| path.as_str());
        let path = find(&name, folders.unwrap_or_default()).ok_or(ProgramError::Missing(name))?;
        Ok(Self { path, arguments: words.collect(), environment, called })
    }
}

/// The program's path: as it is when it has a `/`, else the first in `PATH` that can be run.
fn find(name: &str, path: &str) -> Option<PathBuf> {
    let runs = |path: &Path| {
        std::fs::metadata(path).is_ok_and(|at| at.is_file() && at.permissions().mode() & 0o111 != 0)
    };
    if name.contains('/') {
        return std::path::absolute(name).ok().filter(|path| runs(path));
    }
    path.split(':')
        .filter(|folder| !folder.is_empty())
        .map(|folder| Path::new(folder).join(name))
        .find(|at| runs(at))
}

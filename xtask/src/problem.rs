//! One thing that is wrong, as one line: where, then what.

use std::fmt;

/// A finding of a check.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Problem {
    /// A path below the root, or a package's name.
    place: String,
    /// What is wrong there, and what would be right.
    what: String,
}

impl Problem {
    /// A finding at this place.
    pub(crate) fn at(place: impl Into<String>, what: impl Into<String>) -> Self {
        Self { place: place.into(), what: what.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.what)
    }
}

/// Fails a test with the same lines that `cargo xtask check` prints.
#[cfg(test)]
pub(crate) fn assert_none(problems: &[Problem]) {
    let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert!(lines.is_empty(), "{} problem(s)\n{}", lines.len(), lines.join("\n"));
}

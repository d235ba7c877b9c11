//! What is wrong with a manifest, and where.

use std::fmt;

use redrive_engine::Code;

/// Where in a manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spot {
    /// The manifest as a whole.
    Whole,
    /// A line, from 1.
    Line(u64),
    /// A resource of a JSON document, from 0.
    Resource(usize),
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManifestProblem {
    /// The registry code.
    pub code: Code,
    /// Where.
    pub spot: Spot,
    /// Which field.
    pub field: Option<String>,
    /// Why.
    pub reason: String,
}

impl ManifestProblem {
    pub(super) fn whole(code: Code, reason: impl Into<String>) -> Self {
        Self { code, spot: Spot::Whole, field: None, reason: reason.into() }
    }
}

impl fmt::Display for ManifestProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.spot {
            Spot::Whole => {}
            Spot::Line(line) => write!(f, "line {line}: ")?,
            Spot::Resource(n) => write!(f, "resources[{n}]: ")?,
        }
        if let Some(field) = &self.field {
            write!(f, "{field}: ")?;
        }
        f.write_str(&self.reason)
    }
}

/// A manifest that is not taken. Nothing of it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManifestProblems {
    /// What was found, in the order of the manifest; never empty. Reading stops when there are enough.
    pub problems: Vec<ManifestProblem>,
}

impl ManifestProblems {
    /// The code of the first one.
    #[must_use]
    pub fn code(&self) -> Code {
        self.problems.first().map_or(Code::ValidationMalformed, |problem| problem.code)
    }
}

impl fmt::Display for ManifestProblems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, problem) in self.problems.iter().enumerate() {
            write!(f, "{}{problem}", if n > 0 { "; " } else { "" })?;
        }
        Ok(())
    }
}

/// What is wrong with one object of a manifest; its reader knows where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wrong {
    pub(super) code: Code,
    pub(super) field: Option<String>,
    pub(super) reason: String,
}

impl Wrong {
    pub(super) fn new(code: Code, reason: impl Into<String>) -> Self {
        Self { code, field: None, reason: reason.into() }
    }

    pub(super) fn field(code: Code, field: &str, reason: impl Into<String>) -> Self {
        let field = redrive_engine::model::text::one_line(field, 64, false);
        Self { code, field: Some(field), reason: reason.into() }
    }

    pub(super) fn at(self, spot: Spot) -> ManifestProblem {
        ManifestProblem { code: self.code, spot, field: self.field, reason: self.reason }
    }
}

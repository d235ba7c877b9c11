//! Which calls get which answers.

use std::collections::VecDeque;

use super::answer::Answer;

/// A kind of calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Which {
    /// All of them.
    Any,
    /// Those for the file with this hash.
    File(String),
    /// Those for this mapping.
    Mapping(String),
}

impl Which {
    fn fits(&self, sha256: &str, mapping: &str) -> bool {
        match self {
            Self::Any => true,
            Self::File(wanted) => wanted == sha256,
            Self::Mapping(wanted) => wanted == mapping,
        }
    }
}

/// What was said, the newest first.
#[derive(Debug, Default)]
pub(super) struct Script(Vec<(Which, VecDeque<Answer>)>);

impl Script {
    pub(super) fn say(&mut self, which: Which, answers: VecDeque<Answer>) {
        self.0.retain(|(known, _)| *known != which);
        self.0.insert(0, (which, answers));
    }

    /// The answer to the next call for this file.
    pub(super) fn next(&mut self, sha256: &str, mapping: &str) -> Answer {
        let found = self.0.iter_mut().find(|(which, _)| which.fits(sha256, mapping));
        let said = found.and_then(|(_, answers)| match answers.len() {
            0 | 1 => answers.front().cloned(),
            _ => answers.pop_front(),
        });
        said.unwrap_or(Answer::Right)
    }
}

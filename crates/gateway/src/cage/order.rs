//! What the parent tells the child: one argument, in JSON.

use serde::{Deserialize, Serialize};

use crate::write::Mapping;

/// The hidden first argument.
pub(super) const CHILD: &str = "__gateway-child";

/// What to do with the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Task {
    /// Write it in a mapping, all of it or a range of pages (from 1).
    Convert {
        /// Which mapping.
        mapping: Mapping,
        /// First and last page.
        pages: Option<(u32, u32)>,
    },
    /// Say what it is.
    Inspect,
}

/// The order as it travels.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Order {
    /// The name of a mapping; nothing means inspect.
    pub(super) mapping: Option<String>,
    pub(super) pages: Option<(u32, u32)>,
    pub(super) cpu_seconds: u64,
    pub(super) memory: u64,
    pub(super) input: u64,
    pub(super) output: u64,
    /// Who sent it. A child whose parent is another has been orphaned before it could begin.
    pub(super) parent: u32,
}

impl Order {
    pub(super) fn new(task: &Task, settings: &super::Settings) -> Self {
        let (mapping, pages) = match task {
            Task::Convert { mapping, pages } => (Some(mapping.name().to_owned()), *pages),
            Task::Inspect => (None, None),
        };
        let whole = u64::from(settings.cpu.subsec_nanos() > 0);
        Self {
            mapping,
            pages,
            cpu_seconds: (settings.cpu.as_secs() + whole).max(1),
            memory: settings.memory,
            input: settings.input,
            output: settings.output,
            parent: std::process::id(),
        }
    }

    /// The task, unless the mapping is none of ours.
    pub(super) fn task(&self) -> Option<Task> {
        match &self.mapping {
            None => Some(Task::Inspect),
            Some(name) => {
                let mapping = Mapping::from_name(name)?;
                Some(Task::Convert { mapping, pages: self.pages })
            }
        }
    }
}

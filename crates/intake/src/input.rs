//! A document as a job.

use redrive_blob::shelf::Item;
use redrive_engine::model::dedupe::DedupeKey;
use redrive_engine::{Input, JobId, Target, WorkloadName};
use serde::{Deserialize, Serialize};

/// What a job of intake is about. Everything that may change is in the document's row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Document {
    /// The place that it lies in.
    pub root: String,
    /// Its name below the folders.
    pub path: String,
    /// What is needed to process it.
    #[serde(default)]
    pub targets: Vec<String>,
}

impl Input for Document {
    const WORKLOAD: &'static str = "intake";

    fn targets(&self) -> Vec<Target> {
        self.targets.iter().filter_map(|name| Target::new(name.clone()).ok()).collect()
    }

    fn label(&self) -> Option<String> {
        Some(self.path.clone())
    }
}

/// The id of the document that a file is: the same for everybody who finds it, and another one for another version of it. A file that
/// comes again as it was, from `failed/` say, is told apart by how often it came before.
#[must_use]
pub fn document_id(root: &str, item: &Item, before: u32) -> JobId {
    let before = before.to_be_bytes();
    let parts = [root.as_bytes(), item.key.as_str().as_bytes(), item.version.as_bytes(), &before];
    let draw = WorkloadName::new(Document::WORKLOAD).map_or([0; 10], |workload| {
        let hash = DedupeKey::new(&workload, None, &parts);
        std::array::from_fn(|n| hash.as_bytes().get(n).copied().unwrap_or_default())
    });
    JobId::from_parts(item.modified, draw)
}

#[cfg(test)]
mod tests {
    use redrive_blob::Key;
    use redrive_engine::model::instant;

    use super::*;

    fn item(key: &str, version: &str) -> Item {
        let modified = instant::from_millis(1_750_000_000_000);
        Item { key: Key::parse(key).unwrap(), bytes: 1, version: version.to_owned(), modified }
    }

    #[test]
    fn a_file_has_one_id_and_another_version_another_one() {
        let id = document_id("file:///a", &item("queue/x.pdf", "1"), 0);
        assert_eq!(id, document_id("file:///a", &item("queue/x.pdf", "1"), 0));
        assert_ne!(id, document_id("file:///a", &item("queue/x.pdf", "2"), 0));
        assert_ne!(id, document_id("file:///a", &item("queue/y.pdf", "1"), 0));
        assert_ne!(id, document_id("file:///b", &item("queue/x.pdf", "1"), 0));
        assert_ne!(id, document_id("file:///a", &item("queue/x.pdf", "1"), 1));
        assert_eq!(id.made_at(), instant::from_millis(1_750_000_000_000));
    }
}

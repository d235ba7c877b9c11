//! The folders of a shelf, and how a document is called in each of them.
//!
//! Sub-folders are kept throughout: `queue/team/a.pdf` is `pdf/team/a.pdf`, `result/team/a.pdf` or `failed/team/a.pdf`.

use redrive_blob::{Key, KeyError};

/// A folder of a shelf.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Place {
    /// People put PDFs here.
    Queue,
    /// The same, from an older time; taken first.
    Retry,
    /// What is being processed.
    Pdf,
    /// What is made on the way; ours alone.
    Temp,
    /// What is done, with what was made from it.
    Result,
    /// What was given up.
    Failed,
    /// What is written about failures.
    Reports,
}

impl Place {
    /// Its name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Queue => "queue",
            Self::Retry => "retry",
            Self::Pdf => "pdf",
            Self::Temp => "temp",
            Self::Result => "result",
            Self::Failed => "failed",
            Self::Reports => "reports",
        }
    }

    /// The folder itself.
    pub fn key(self) -> Result<Key, KeyError> {
        Key::parse(self.as_str())
    }

    /// What is called so below it.
    pub fn of(self, path: &str) -> Result<Key, KeyError> {
        self.key()?.join(path)
    }

    /// What a key below it is called; nothing for a key elsewhere.
    #[must_use]
    pub fn path_of(self, key: &Key) -> Option<&str> {
        key.as_str().strip_prefix(self.as_str())?.strip_prefix('/')
    }
}

/// A path without the ending of its name: `team/a.pdf` is `team/a`.
#[must_use]
pub fn stem(path: &str) -> &str {
    let name = path.rsplit_once('/').map_or(0, |(folders, _)| folders.len() + 1);
    match path.rfind('.') {
        Some(dot) if dot > name => path.get(..dot).unwrap_or(path),
        Some(_) | None => path,
    }
}

/// Whether a file in `queue/` is one that is taken: a PDF by its name, and nothing that programs leave beside it.
#[must_use]
pub fn is_wanted(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let hidden = path.split('/').any(|segment| segment.starts_with('.'));
    let unfinished = name.starts_with('~');
    let pdf = name.len() > 4 && name.to_ascii_lowercase().ends_with(".pdf");
    pdf && !hidden && !unfinished
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_has_one_path_in_every_folder() {
        let key = Place::Queue.of("team/Größe 1.pdf").unwrap();
        assert_eq!(key.as_str(), "queue/team/Größe 1.pdf");
        assert_eq!(Place::Queue.path_of(&key), Some("team/Größe 1.pdf"));
        assert_eq!(Place::Pdf.path_of(&key), None);
        assert_eq!(Place::Queue.path_of(&Key::parse("queueing/a.pdf").unwrap()), None);
        assert!(Place::Pdf.of("../a.pdf").is_err());
    }

    #[test]
    fn a_stem_is_a_name_without_its_ending() {
        for (path, expected) in [
            ("a.pdf", "a"),
            ("t.x/a.b.pdf", "t.x/a.b"),
            ("t.x/a", "t.x/a"),
            ("t/.pdf", "t/.pdf"),
            (".pdf", ".pdf"),
        ] {
            assert_eq!(stem(path), expected);
        }
    }

    #[test]
    fn pdfs_are_taken_and_what_programs_leave_is_not() {
        for name in ["a.pdf", "team/A.PDF", "x y.Pdf", "a.b.pdf"] {
            assert!(is_wanted(name), "{name}");
        }
        for name in
            ["a.txt", ".pdf", "team/.a.pdf", ".tmp/a.pdf", "~$a.pdf", "a.pdf.part", "pdf", "Thumbs.db"]
        {
            assert!(!is_wanted(name), "{name}");
        }
    }
}

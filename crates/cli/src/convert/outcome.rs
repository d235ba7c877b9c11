//! What became of one file.

use redrive_blob::BlobError;
use redrive_model::Code;
use serde::Serialize;

/// How a file ended.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// Its XML is where it should be.
    Written(Written),
    /// It could not be done.
    Failed(Trouble),
    /// We were told to stop before it ended.
    Interrupted,
}

/// An XML that is there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Written {
    /// It was there before this run.
    pub(crate) already: bool,
    /// Its size.
    pub(crate) bytes: u64,
    /// Its hash.
    pub(crate) sha256: String,
    /// Pages, where the gateway said.
    pub(crate) pages: Option<u32>,
    /// What the gateway warned of.
    pub(crate) warnings: Vec<String>,
}

/// Why a file could not be done: what happened, what we do, what you can do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Trouble {
    /// From the registry.
    pub(crate) code: String,
    /// What happened.
    pub(crate) message: String,
    /// What comes of it.
    pub(crate) what_we_do: String,
    /// The next step.
    pub(crate) what_you_can_do: String,
}

impl Trouble {
    /// As the registry says, with a sentence of its own where there is one.
    pub(crate) fn new(code: Code, message: Option<&str>) -> Self {
        let entry = code.public().entry();
        let message = message.filter(|text| !text.is_empty()).unwrap_or(entry.what_happened);
        Self {
            code: entry.name.to_owned(),
            message: message.to_owned(),
            what_we_do: entry.what_we_do.to_owned(),
            what_you_can_do: entry.what_you_can_do.to_owned(),
        }
    }

    /// A code that came from elsewhere and may be newer than this program.
    pub(crate) fn named(code: &str, message: &str) -> Self {
        match Code::parse(code) {
            Some(known) => Self::new(known, Some(message)),
            None => {
                Self { code: code.to_owned(), message: message.to_owned(), ..Self::new(Code::Unknown, None) }
            }
        }
    }

    /// Where a file could not be read or written.
    pub(crate) fn disk(what: &str) -> Self {
        Self {
            what_we_do: "We go on with the other files.".to_owned(),
            what_you_can_do: "Look at the file and the disk, then run the same command again.".to_owned(),
            ..Self::new(Code::IoError, Some(what))
        }
    }

    /// Where something else has the name.
    pub(crate) fn taken(path: &std::path::Path) -> Self {
        Self {
            what_we_do: "It stays as it is.".to_owned(),
            what_you_can_do: "Move it away, choose another --out, or add --force to replace it.".to_owned(),
            ..Self::new(
                Code::UploadConflict,
                Some(&format!("{} is there already and has other content.", path.display())),
            )
        }
    }
}

impl From<BlobError> for Trouble {
    fn from(error: BlobError) -> Self {
        let failure = error.failure();
        match error {
            BlobError::TooLarge { limit } => Self::new(
                Code::TooLarge,
                Some(&format!("The file exceeds the limit of {limit} bytes (MAX_UPLOAD_BYTES).")),
            ),
            _ => Self::disk(&failure.message),
        }
    }
}

//! What a conversion needs, and where its files lie.

use redrive_blob::{Key, KeyError, Sha256};
use redrive_engine::model::JobId;
use redrive_engine::{Input, Target};
use redrive_gateway_client::TARGET;
use serde::{Deserialize, Serialize};

/// A PDF that is stored, and how it is to be converted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pdf {
    /// The key of the stored PDF.
    pub source: String,
    /// Its hash, in hexadecimal.
    pub sha256: String,
    /// Its size.
    pub bytes: u64,
    /// What its owner calls it; data only, never a path.
    pub filename: String,
    /// Which mapping.
    pub mapping: String,
}

impl Pdf {
    /// Where the PDF lies.
    pub fn source(&self) -> Result<Key, KeyError> {
        Key::parse(&self.source)
    }

    /// The hash that was recorded when it was stored.
    #[must_use]
    pub fn hash(&self) -> Option<Sha256> {
        Sha256::parse(&self.sha256)
    }
}

impl Input for Pdf {
    const WORKLOAD: &'static str = "convert";

    fn targets(&self) -> Vec<Target> {
        Target::new(TARGET).into_iter().collect()
    }

    fn label(&self) -> Option<String> {
        Some(self.filename.clone())
    }

    /// The same bytes with the same mapping are one job, per owner.
    fn unique_by(&self) -> Option<String> {
        Some(format!("{}/{}/{}", self.sha256, self.bytes, self.mapping))
    }
}

/// Where the source of a job lies. The id is all that a name is made of: nothing of what a person typed.
pub fn source_key(job: JobId) -> Result<Key, KeyError> {
    Key::parse(&format!("{job}.pdf"))
}

/// Where an attempt puts its result. Every lease token has a name of its own.
pub fn result_key(job: JobId, token: i64) -> Result<Key, KeyError> {
    Key::parse(&format!("{job}/{token}.xml"))
}

//! What whoever runs Redrive wants to say about each resource: before it is fetched, and before its bytes get their name.
//!
//! A hook may refuse, choose the name, and add tags. One that fails, panics or takes too long ends the job at once: nobody but its
//! author knows whether a second try would help, so none is made. It may be called again for the same resource, because attempts
//! are.

mod command;
mod site;

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;

use async_trait::async_trait;
use redrive_blob::{BlobError, Sealed, Sha256};
use redrive_engine::{JobId, Owner};
use serde::{Deserialize, Serialize};

pub(crate) use command::sweep_scratch;
pub use command::{CommandError, CommandHook, CommandOptions};
pub(crate) use site::Asked;

/// Looks at resources, before and after.
#[async_trait]
pub trait Hook: fmt::Debug + Send + Sync + 'static {
    /// Before anything is asked of anybody. A refusal here costs no request.
    async fn before(&self, about: &ResourceView<'_>) -> Result<Verdict, HookError> {
        let _ = about;
        Ok(Verdict::default())
    }

    /// When all bytes are here and were checked, before they get their name. What is refused here never has one.
    async fn after(&self, about: &ResourceView<'_>, bytes: &Candidate<'_>) -> Result<Verdict, HookError> {
        let _ = (about, bytes);
        Ok(Verdict::default())
    }
}

/// A resource, as its job knows it. Its headers are not told.
#[derive(Clone, Copy, Serialize)]
pub struct ResourceView<'a> {
    /// The job.
    pub job: JobId,
    /// Which charged execution of it.
    pub attempt: u32,
    /// Whose it is.
    pub owner: Option<&'a Owner>,
    /// The manifest it came with.
    pub manifest_key: &'a str,
    /// What the manifest calls it.
    pub id: &'a str,
    /// Where it is, whole: it may hold a secret.
    pub url: &'a str,
    /// What the manifest says about it.
    pub tags: &'a BTreeMap<String, String>,
}

/// Bytes that have no name yet.
pub struct Candidate<'a> {
    sealed: &'a Sealed,
    /// What the origin said that it is.
    pub content_type: Option<&'a str>,
    /// The status of the answer that brought it.
    pub status: u16,
}

impl Candidate<'_> {
    /// How many they are.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.sealed.bytes()
    }

    /// Their hash.
    #[must_use]
    pub const fn sha256(&self) -> Sha256 {
        self.sealed.sha256()
    }

    /// Writes them into a file. It is a copy: whatever is done to it, what is stored is what was fetched and hashed.
    pub async fn copy_to(&self, file: File) -> Result<(), HookError> {
        Ok(self.sealed.copy_to(file).await?)
    }
}

/// What a hook says. The default lets everything be as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Verdict {
    /// The resource is not wanted, and why. Nothing else counts then.
    pub refuse: Option<String>,
    /// The object's name below the prefix of its batch, with `/` between folders. It must be a safe key.
    pub name: Option<String>,
    /// Tags for the result.
    pub tags: BTreeMap<String, String>,
}

impl Verdict {
    /// Not wanted, and why.
    pub fn refuse(why: impl Into<String>) -> Self {
        Self { refuse: Some(why.into()), ..Self::default() }
    }

    /// Stored under this name.
    pub fn name(name: impl Into<String>) -> Self {
        Self { name: Some(name.into()), ..Self::default() }
    }

    /// With one tag more.
    #[must_use]
    pub fn tag(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.tags.insert(name.into(), value.into());
        self
    }
}

/// Why a hook has no verdict.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HookError {
    /// It failed.
    #[error("{0}")]
    Failed(String),
    /// It took too long.
    #[error("{0}")]
    TimedOut(String),
    /// Our own machine has no process, no handle or no memory left for it.
    #[error("{0}")]
    Exhausted(String),
    /// The bytes could not be handed to it.
    #[error("the bytes could not be copied for it: {0}")]
    Place(#[from] BlobError),
}

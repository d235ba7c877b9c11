//! The report about a document that was given up: a `.docx` beside it, for whoever put the PDF in.
//!
//! A job of its own, so that a report never keeps a PDF from its place. It is written once for each end of a document: its name comes from
//! the instant of that end, and a run that dies after it has noted what it wrote is gone on with. A gateway that is away is asked a few
//! times; then the report is written without what it would have said.

mod facts;

use std::sync::Arc;

use redrive_blob::shelf::beside;
use redrive_blob::{BlobError, BlobsExt, Key, Sha256};
use redrive_engine::model::dedupe::DedupeKey;
use redrive_engine::model::{Class, LeaseToken, Timestamp};
use redrive_engine::store::Store;
use redrive_engine::store::intake::{DocumentChange, DocumentRow};
use redrive_engine::{Code, Context, Done, Failure, Input, JobId, Policy, Workload, WorkloadName};
use redrive_gateway_client::Gateway;
use redrive_notify::analysis::{self, NoProperties, Pdf};
use serde::{Deserialize, Serialize};

use crate::layout::{Place, stem};
use crate::mover::Mover;

/// So often the gateway is asked before a report is written without it.
const TRIES: u32 = 4;
/// So many names are tried.
const NAMES: u32 = 100;

/// A document whose end is to be explained.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Analyse {
    /// Which document.
    pub document: JobId,
    /// Which of its ends: the first, or that after a retry by hand.
    pub generation: u32,
    /// What people call it.
    #[serde(default)]
    pub path: String,
}

impl Analyse {
    /// The job's id: one for each end of a document.
    #[must_use]
    pub fn id(&self, at: Timestamp) -> JobId {
        let (document, generation) = (self.document.as_uuid(), self.generation.to_be_bytes());
        let parts: [&[u8]; 2] = [document.as_bytes(), &generation];
        let draw = WorkloadName::new(Self::WORKLOAD).map_or([0; 10], |workload| {
            let hash = DedupeKey::new(&workload, None, &parts);
            std::array::from_fn(|n| hash.as_bytes().get(n).copied().unwrap_or_default())
        });
        JobId::from_parts(at, draw)
    }
}

impl Input for Analyse {
    const WORKLOAD: &'static str = "intake.analysis";

    fn label(&self) -> Option<String> {
        Some(format!("analysis of {}", self.path))
    }
}

/// The workload that writes reports. It depends on no target: a gateway that is away must not hold a report back for ever.
#[derive(Clone)]
pub struct Analyst {
    store: Arc<dyn Store>,
    mover: Mover,
    gateway: Gateway,
    policy: Policy,
}

/// What was written, noted before it had its name.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Written {
    key: String,
    sha256: String,
}

impl Analyst {
    /// Writes reports onto the shelf of the documents. `policy` gives the waits between its tries.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, mover: Mover, gateway: Gateway, policy: Policy) -> Self {
        let policy = Policy { max_attempts: Some(TRIES), retry_all: false, ..policy };
        Self { store, mover, gateway, policy }
    }

    async fn write(&self, ctx: &Context, wanted: &Analyse) -> Result<Option<Key>, Failure> {
        let Some(document) = self.mover.store.document(wanted.document).await.map_err(lost)? else {
            return Ok(None);
        };
        if document.root != self.mover.shelf.root() {
            let text = format!("the document lies in {}, and this server works elsewhere", document.root);
            return Err(Failure::new(Code::StorageUnavailable, text));
        }
        let blobs = self.mover.shelf.blobs();
        if let Some(written) = ctx.state::<Written>()?
            && let (Ok(key), Some(hash)) = (Key::parse(&written.key), Sha256::parse(&written.sha256))
            && blobs.verify(&key, &hash).await.is_ok()
        {
            return Ok(Some(key));
        }
        let attempts = self.store.attempts(wanted.document).await.map_err(lost)?;
        let attempts: Vec<_> =
            attempts.into_iter().filter(|row| row.generation == wanted.generation).collect();
        let made = attempts.last().map_or(document.updated_at, |row| row.ended_at);
        let pdf = self.properties(ctx, &document).await?;
        let facts = facts::analysis(&document, &attempts, pdf, made);
        let docx = analysis::document(&facts).map_err(|error| Failure::new(Code::SystemInternal, error))?;
        let docx = bytes::Bytes::from(docx);
        let sha256 = Sha256::of(&docx).to_string();
        let first = name(&document.path, made)?;
        for n in 1..=NAMES {
            let key = if n < 2 { Ok(first.clone()) } else { beside(&first, n) };
            let key = key.map_err(|error| Failure::new(Code::IoError, error))?;
            ctx.save_state(&Written { key: key.as_str().to_owned(), sha256: sha256.clone() }).await?;
            match blobs.put_bytes(&key, docx.clone()).await {
                Ok(_) => return Ok(Some(key)),
                Err(BlobError::AlreadyExists { .. }) => {}
                Err(error) => return Err(error.failure()),
            }
        }
        Err(Failure::new(Code::IoError, format!("every name like {first} is taken")))
    }

    /// What the file is inside. The last try takes what it gets.
    async fn properties(&self, ctx: &Context, document: &DocumentRow) -> Result<Pdf, Failure> {
        let Ok(key) = Key::parse(&document.place) else { return Ok(Pdf::Unknown(NoProperties::Missing)) };
        let open = match self.mover.shelf.open(&key).await {
            Ok(open) => open,
            Err(BlobError::NotFound { .. }) => return Ok(Pdf::Unknown(NoProperties::Missing)),
            Err(error) => return Err(error.failure()),
        };
        match self.gateway.inspect(open).await {
            Ok(properties) => Ok(Pdf::Known(properties)),
            Err(failure) => match failure.code.class() {
                Class::Transient | Class::Throttled | Class::Crash if ctx.attempt() < TRIES => Err(failure),
                Class::Transient
                | Class::Throttled
                | Class::Crash
                | Class::Environment
                | Class::Permanent
                | Class::Request => Ok(Pdf::Unknown(NoProperties::of(failure.code))),
            },
        }
    }
}

impl Workload for Analyst {
    type Input = Analyse;

    fn policy(&self) -> Policy {
        self.policy.clone()
    }

    fn concurrency(&self) -> usize {
        1
    }

    async fn run(&self, ctx: Context, wanted: Analyse) -> Result<Done, Failure> {
        let cancelled = ctx.cancellation();
        let key = tokio::select! {
            key = self.write(&ctx, &wanted) => key?,
            () = cancelled.cancelled() => return Err(Failure::new(Code::Unknown, "the attempt was told to end")),
        };
        if let Some(key) = key {
            // Whoever holds the document now: a report moves nothing.
            let change =
                DocumentChange { report: Some(key.as_str().to_owned()), ..DocumentChange::default() };
            let noted = self.mover.store.change_document(wanted.document, LeaseToken(i64::MAX), change).await;
            noted.map_err(lost)?;
            tracing::info!(event = "intake.report", job_id = %wanted.document, key = %key);
            ctx.set_result(key.as_str());
        }
        Ok(Done::Complete)
    }
}

/// `reports/failure_analysis/<path>/<name>_analysis_<timestamp>.docx`.
fn name(path: &str, made: Timestamp) -> Result<Key, Failure> {
    let stamp = made.strftime("%Y%m%dT%H%M%SZ");
    let key = format!("failure_analysis/{}_analysis_{stamp}.docx", stem(path));
    Place::Reports.of(&key).map_err(|error| Failure::new(Code::IoError, error))
}

fn lost(error: redrive_engine::store::StoreError) -> Failure {
    Failure::new(error.code(), error)
}

impl std::fmt::Debug for Analyst {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Analyst").field("mover", &self.mover).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use redrive_engine::model::instant;

    use super::*;

    #[test]
    fn a_report_has_the_name_of_its_file_and_the_instant_of_its_end() {
        let at = instant::from_millis(1_750_000_000_000);
        let key = name("team/März.v2.pdf", at).unwrap();
        assert_eq!(key.as_str(), "reports/failure_analysis/team/März.v2_analysis_20250615T150640Z.docx");
    }

    #[test]
    fn each_end_of_a_document_has_one_job() {
        let at = instant::from_millis(1_750_000_000_000);
        let analyse = |generation| Analyse {
            document: JobId::from_parts(at, [7; 10]),
            generation,
            path: "x.pdf".to_owned(),
        };
        assert_eq!(analyse(1).id(at), analyse(1).id(at));
        assert_ne!(analyse(1).id(at), analyse(2).id(at));
    }
}

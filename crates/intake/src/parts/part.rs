//! A range of pages as a job: `intake.part`. It goes through the gateway, and what comes back lies in `temp/` until its document takes it.
//!
//! A part is no document. It is not tried again for what may be the document's fault or the gateway's: its failure is the failure of the
//! document's run, which has a policy of its own. Only a gateway that is busy and a worker that died are waited out here.

use std::sync::Arc;

use redrive_blob::shelf::Shelf;
use redrive_blob::{BlobError, Key};
use redrive_engine::model::State;
use redrive_engine::model::failure::REGISTRY;
use redrive_engine::{
    BatchId, By, Code, Context, Done, Engine, Failure, Input, JobId, Policy, Target, Workload,
};
use redrive_gateway_client::{Ask, Gateway, blame, receive, storage};
use serde::{Deserialize, Serialize};

use super::plan::Range;
use crate::layout::{Place, stem};
use crate::seen::Seen;

/// So often a part is begun at most.
const TRIES: u32 = 5;

/// What a job of a part is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// The document's job.
    pub document: JobId,
    /// Which attempt of it the part is made for.
    pub attempt: u32,
    /// The place that it lies in.
    pub root: String,
    /// The document's name below the folders.
    pub path: String,
    /// Where its PDF lies.
    pub pdf: String,
    /// The PDF's hash.
    pub sha256: String,
    /// What the gateway is to make.
    pub mapping: String,
    /// Which pages.
    pub range: Range,
    /// What is needed to process it.
    #[serde(default)]
    pub targets: Vec<String>,
}

impl Input for Part {
    const WORKLOAD: &'static str = "intake.part";

    fn targets(&self) -> Vec<Target> {
        self.targets.iter().filter_map(|name| Target::new(name.clone()).ok()).collect()
    }

    fn label(&self) -> Option<String> {
        Some(format!("{}, {}", self.path, self.range))
    }
}

/// What became of a part, as its job refers to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum PartMade {
    /// It lies in `temp/`.
    Stored {
        /// Its pages.
        range: Range,
        /// Where.
        key: String,
        /// Its hash.
        sha256: String,
        /// What the gateway warned of.
        warnings: Vec<String>,
    },
    /// The gateway does not know ranges: it converted something else.
    NoRange,
}

/// The workload.
#[derive(Clone)]
pub struct PartWork {
    engine: Engine,
    shelf: Arc<dyn Shelf>,
    gateway: Gateway,
    max_result: u64,
    concurrency: usize,
}

impl PartWork {
    /// Converts parts of documents of a shelf.
    #[must_use]
    pub fn new(
        engine: Engine,
        shelf: Arc<dyn Shelf>,
        gateway: Gateway,
        max_result: u64,
        concurrency: usize,
    ) -> Self {
        Self { engine, shelf, gateway, max_result, concurrency }
    }

    async fn convert(&self, ctx: &Context, part: &Part) -> Result<PartMade, Failure> {
        self.wanted(ctx.batch(), part).await?;
        let pdf = Key::parse(&part.pdf).map_err(|error| Failure::new(Code::SystemUndecodable, error))?;
        let open = self.shelf.open(&pdf).await.map_err(|error| match error {
            BlobError::NotFound { .. } => Failure::new(Code::SourceMissing, "the PDF is not where it was"),
            error => error.failure(),
        })?;
        let (outgoing, seen) = Seen::on(open);
        let (idempotency, pages) = (ctx.idempotency_key(), Some((part.range.first, part.range.last)));
        let ask = Ask { mapping: &part.mapping, pages, idempotency_key: &idempotency };
        let began = tokio::time::Instant::now();
        let answered = self.gateway.process(outgoing, ask).await;
        metrics::histogram!("redrive_gateway_latency_seconds").record(began.elapsed().as_secs_f64());
        if seen.hash().is_some_and(|hash| hash != part.sha256) {
            return Err(Failure::new(Code::SourceChanged, "another file has its place"));
        }
        let answer = answered.map_err(blame)?;
        if answer.pages() != Some(part.range.pages()) {
            return Ok(PartMade::NoRange);
        }
        let warnings = answer.warnings();
        let upload = self.shelf.blobs().begin(self.max_result).await.map_err(|error| storage(&error))?;
        let mut sealed = receive(answer, upload).await?;
        let key = self.key(ctx, part).map_err(|error| Failure::new(Code::IoError, error))?;
        // Its document may have been given up meanwhile: nobody would clear what is put there now.
        self.wanted(ctx.batch(), part).await?;
        sealed.finish(&key).await.map_err(|error| storage(&error))?;
        ctx.set_result_bytes(sealed.bytes());
        Ok(PartMade::Stored {
            range: part.range,
            key: key.as_str().to_owned(),
            sha256: sealed.sha256().to_string(),
            warnings,
        })
    }

    /// Below the document's folder in `temp/`. Each run of a part has a name of its own.
    fn key(&self, ctx: &Context, part: &Part) -> Result<Key, redrive_blob::KeyError> {
        let Range { first, last } = part.range;
        let name = format!("{}-{first:06}-{last:06}-{}.xml", part.attempt, ctx.lease().token.0);
        Place::Temp.of(stem(&part.path))?.join(&name)
    }

    /// Whether its document still waits for it, or is about to.
    async fn wanted(&self, batch: Option<BatchId>, part: &Part) -> Result<(), Failure> {
        if part.root != self.shelf.root() {
            let text = format!("the document lies in {}, and this server works elsewhere", part.root);
            return Err(Failure::new(Code::StorageUnavailable, text));
        }
        let row = self.engine.job(part.document).await?;
        let waits = row.is_some_and(|row| match row.state {
            State::Processing => row.attempt == part.attempt,
            State::Queued => row.awaits.is_some() && row.awaits == batch,
            _ => false,
        });
        let reason = if waits { None } else { Some("its document does not wait for it any more") };
        let Some(batch) = batch else { return reason.map_or(Ok(()), |reason| Err(stopped(reason))) };
        let failed = self.engine.batch(batch).await?.is_some_and(|batch| batch.counters.failed > 0);
        let Some(reason) = reason.or(failed.then_some("another part of the document has failed")) else {
            return Ok(());
        };
        // All that have not ended, this one too: none of them leaves a dead letter.
        self.engine.cancel_batch(batch, &By::new("intake").because(reason)).await?;
        Err(stopped(reason))
    }
}

fn stopped(reason: &str) -> Failure {
    Failure::new(Code::Cancelled, reason)
}

impl Workload for PartWork {
    type Input = Part;

    fn policy(&self) -> Policy {
        let waited_out = |code: &Code| {
            matches!(
                code,
                Code::GwBusy | Code::SystemWorkerLost | Code::SystemLeaseLost | Code::SystemInterrupted
            )
        };
        let caps = REGISTRY
            .iter()
            .map(|entry| entry.code)
            .filter(|code| !waited_out(code))
            .map(|code| (code, 0))
            .collect();
        Policy { max_attempts: Some(TRIES), code_caps: caps, ..Policy::reliability() }
    }

    fn concurrency(&self) -> usize {
        self.concurrency
    }

    /// Nobody replays a part: its document is tried again, with parts of its own.
    async fn source(&self, _: &Part) -> Result<(), Failure> {
        Err(Failure::new(Code::SourceMissing, "a part is not run again alone: retry its document"))
    }

    async fn run(&self, ctx: Context, part: Part) -> Result<Done, Failure> {
        let cancelled = ctx.cancellation();
        let made = tokio::select! {
            made = self.convert(&ctx, &part) => made?,
            () = cancelled.cancelled() => {
                return Err(Failure::new(Code::Unknown, "the attempt was told to end"));
            }
        };
        let json = serde_json::to_string(&made).map_err(|error| Failure::new(Code::SystemInternal, error))?;
        ctx.set_result(json);
        Ok(Done::Complete)
    }
}

//! Large PDFs are converted in ranges of pages, at once, and put together again.
//!
//! ```text
//! inspect ─▶ plan ─▶ a batch of `intake.part` ─▶ the document waits, without a slot ─▶ join ─▶ one file
//! ```
//!
//! Every attempt of a document has a batch of its own, because `temp/` is cleared after each that fails: nothing of it is used again. A
//! part's failure is the failure of the attempt. A gateway that cannot tell how many pages there are, that does not know ranges, or
//! that makes something we cannot put together, gets the whole file as it always did.

mod assemble;
mod join;
mod part;
mod plan;
mod results;

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use redrive_blob::Sealed;
use redrive_blob::shelf::Shelf;
use redrive_engine::model::BatchState;
use redrive_engine::model::dedupe::DedupeKey;
use redrive_engine::{BatchId, BatchOptions, By, Code, Context, Engine, Failure, Input, WorkloadName};
use redrive_gateway_client::{Gateway, Outgoing, blame, storage};

pub use part::{Part, PartWork};
pub use plan::Range;
use results::Ended;

/// Cuts documents into parts, and puts them together.
#[derive(Clone)]
pub(crate) struct Cutter {
    engine: Engine,
    shelf: Arc<dyn Shelf>,
    gateway: Gateway,
    /// Pages of one part; 0 cuts nothing.
    per_part: u32,
    max_result: u64,
    /// Mappings whose parts could not be put together, as far as this process knows.
    whole: Arc<Mutex<HashSet<String>>>,
}

/// What a document's parts became.
pub(crate) struct Joined {
    /// The file.
    pub(crate) sealed: Sealed,
    /// How many pages there are.
    pub(crate) pages: u32,
    /// What the gateway warned of.
    pub(crate) warnings: Vec<String>,
}

/// How far the parts of this attempt are.
pub(crate) enum Progress {
    /// There are none yet.
    NotBegun,
    /// They are being made.
    Running(BatchId),
    /// They were made, and are one file now.
    Joined(Box<Joined>),
    /// They cannot be one file.
    Whole,
}

impl Cutter {
    /// Cuts documents of a shelf.
    pub(crate) fn new(
        engine: Engine,
        shelf: Arc<dyn Shelf>,
        gateway: Gateway,
        per_part: u32,
        max_result: u64,
    ) -> Self {
        Self { engine, shelf, gateway, per_part, max_result, whole: Arc::default() }
    }

    /// Whether a document may be cut at all, as far as that can be said without asking anybody.
    pub(crate) fn is_worth(&self, bytes: u64, mapping: &str) -> bool {
        let whole = self.whole.lock().unwrap_or_else(PoisonError::into_inner).contains(mapping);
        self.per_part > 0 && bytes >= plan::WORTH_LOOKING && assemble::is_joined(mapping) && !whole
    }

    /// Asks the gateway how the pages are to be cut. No ranges: the file goes as a whole. What the gateway refuses here it is asked
    /// again for the whole, so that a gateway that cannot inspect is none the worse for it.
    pub(crate) async fn ranges(&self, pdf: Outgoing) -> Result<Vec<Range>, Failure> {
        match self.gateway.inspect(pdf).await {
            Ok(properties) => Ok(plan::plan(properties.pages, self.per_part)),
            Err(failure) => match failure.code {
                // One that does not know the question may hang up before it has heard it; whether it is there at all is found out by the whole.
                Code::GwUnavailable => Ok(Vec::new()),
                Code::GwTimeout | Code::GwBusy | Code::GwThrottled | Code::GwUnauthorized => {
                    Err(blame(failure))
                }
                code if code.entry().name.starts_with("GW_") || code == Code::ParseError => Ok(Vec::new()),
                _ => Err(failure),
            },
        }
    }

    /// Hands the parts in, and answers the batch to wait for. Handed in again they are the same.
    pub(crate) async fn begin(
        &self,
        ctx: &Context,
        mapping: &str,
        parts: &[Part],
    ) -> Result<BatchId, Failure> {
        let options = BatchOptions::default().id(self.batch_of(ctx, ctx.attempt(), mapping));
        let options = match ctx.label() {
            Some(label) => options.label(label),
            None => options,
        };
        Ok(self.engine.enqueue_batch(parts, options).await?)
    }

    /// How far this attempt is. A failed part is its failure.
    pub(crate) async fn progress(&self, ctx: &Context, mapping: &str) -> Result<Progress, Failure> {
        let id = self.batch_of(ctx, ctx.attempt(), mapping);
        let Some(batch) = self.engine.batch(id).await? else {
            self.stop_older(ctx, mapping).await?;
            return Ok(Progress::NotBegun);
        };
        if batch.state == BatchState::Processing {
            // A run that was stopped while it handed its parts in hands the rest in.
            return Ok(if batch.sealed { Progress::Running(id) } else { Progress::NotBegun });
        }
        let places = match results::of(&self.engine, &batch).await? {
            Ended::Failed(failure) => return Err(failure),
            Ended::NoRange => None,
            Ended::Made(made) => Some(made),
        };
        if let Some(made) = places {
            let pages = made.ranges.iter().fold(0_u32, |sum, range| sum.saturating_add(range.pages()));
            let blobs = self.shelf.blobs();
            let upload = blobs.begin(self.max_result).await.map_err(|error| storage(&error))?;
            let places = join::Places { blobs, ranges: made.ranges, keys: made.keys };
            if let Some(sealed) = join::join(places, upload).await? {
                return Ok(Progress::Joined(Box::new(Joined { sealed, pages, warnings: made.warnings })));
            }
        }
        self.whole.lock().unwrap_or_else(PoisonError::into_inner).insert(mapping.to_owned());
        Ok(Progress::Whole)
    }

    /// The batch of one attempt of a document. Pages that are cut in another way, or made into something else, are another batch: a
    /// setting may change between two processes.
    fn batch_of(&self, ctx: &Context, attempt: u32, mapping: &str) -> BatchId {
        let (job, plan) =
            (ctx.job().as_uuid(), [ctx.generation(), attempt, self.per_part].map(u32::to_be_bytes));
        let draw = WorkloadName::new(<Part as Input>::WORKLOAD).map_or([0; 10], |workload| {
            let parts: [&[u8]; 3] = [job.as_bytes(), plan.as_flattened(), mapping.as_bytes()];
            let hash = DedupeKey::new(&workload, None, &parts);
            std::array::from_fn(|n| hash.as_bytes().get(n).copied().unwrap_or_default())
        });
        BatchId::from_parts(ctx.job().made_at(), draw)
    }

    /// An attempt that died has left parts that nobody waits for.
    async fn stop_older(&self, ctx: &Context, mapping: &str) -> Result<(), Failure> {
        let Some(before) = ctx.attempt().checked_sub(1).filter(|attempt| *attempt > 0) else { return Ok(()) };
        let id = self.batch_of(ctx, before, mapping);
        if self.engine.batch(id).await?.is_some_and(|batch| batch.state == BatchState::Processing) {
            self.engine.cancel_batch(id, &By::new("intake")).await?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;

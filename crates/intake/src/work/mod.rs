//! One run of a document: out of `queue/`, through the gateway or a program, into `result/`.
//!
//! Every step leaves a trace that the next attempt can read: the row says where the PDF lies, the job's state which outputs were made.
//! A run that dies anywhere is gone on with, and makes nothing twice under another name.

mod hold;
mod noted;
mod publish;
mod ways;
mod whole;

use std::sync::Arc;

use redrive_blob::Key;
use redrive_engine::store::intake::{DocumentChange, DocumentRow, Stage};
use redrive_engine::{Code, Context, Done, Engine, Failure, Policy, Workload};
use redrive_gateway_client::Gateway;
use tokio::sync::Mutex;

use crate::command::Command;
use crate::input::Document;
use crate::layout::{Place, stem};
use crate::mover::{Goal, Moved, Mover};
use crate::parts::{Cutter, PartWork};
pub use noted::{Noted, Output};
use ways::Processed;

/// How documents are processed.
#[derive(Debug, Clone)]
pub struct IntakeOptions {
    /// What is done when one fails.
    pub policy: Policy,
    /// So many at once in this process.
    pub concurrency: usize,
    /// What the gateway is to make of them; its first mapping when nothing is said.
    pub mapping: Option<String>,
    /// The largest result.
    pub max_result: u64,
    /// A PDF with more pages goes through the gateway in parts of at most so many; 0 is never.
    pub pages_per_part: u32,
    /// The program that processes documents in place of the gateway.
    pub command: Option<Command>,
}

/// The workload.
#[derive(Clone)]
pub struct Intake {
    engine: Engine,
    mover: Mover,
    gateway: Gateway,
    options: Arc<IntakeOptions>,
    cutter: Cutter,
    /// One run at a time looks for a free name: the same bytes under one name would be taken for one file.
    naming: Arc<Mutex<()>>,
}

impl Intake {
    /// Processes the documents of a shelf.
    #[must_use]
    pub fn new(engine: Engine, mover: Mover, gateway: Gateway, options: IntakeOptions) -> Self {
        let cutter = Cutter::new(
            engine.clone(),
            mover.shelf.clone(),
            gateway.clone(),
            options.pages_per_part,
            options.max_result,
        );
        Self { engine, mover, gateway, options: Arc::new(options), cutter, naming: Arc::default() }
    }

    /// The workload of the parts that its documents are cut into. It is to be registered beside this one, wherever this one is.
    #[must_use]
    pub fn parts(&self) -> PartWork {
        PartWork::new(
            self.engine.clone(),
            self.mover.shelf.clone(),
            self.gateway.clone(),
            self.options.max_result,
            self.options.concurrency,
        )
    }

    async fn run_once(&self, ctx: &Context, input: &Document) -> Result<Done, Failure> {
        let shelf = self.mover.shelf.root();
        if input.root != shelf {
            let text = format!("the document lies in {}, and this server works on {shelf}", input.root);
            return Err(Failure::new(Code::StorageUnavailable, text));
        }
        let document = self.hold(ctx).await?;
        if document.stage == Stage::Done {
            return Ok(Done::Complete);
        }
        let pdf = self.bring(ctx, &document, Place::Pdf.of(&document.path), "process").await?;
        let noted = match ctx.state::<Noted>()? {
            Some(noted) if noted.stands(&*self.mover.shelf.blobs()).await => {
                tracing::info!(event = "result.adopted", job_id = %ctx.job(), key = %noted.pdf);
                noted
            }
            Some(_) | None => match self.process(ctx, input, &document, &pdf).await? {
                Processed::Made(made) => self.publish(ctx, &document, made).await?,
                Processed::Waits(batch) => return Ok(Done::AwaitBatch(batch)),
            },
        };
        let base = Key::parse(&noted.pdf).map_err(|error| Failure::new(Code::SystemInternal, error));
        let lies = self.bring(ctx, &document, base, "done").await?;
        let temp = Place::Temp.of(stem(&document.path));
        if let Ok(temp) = temp {
            self.mover.shelf.clear(&temp).await.map_err(|error| error.failure())?;
        }
        self.change(ctx, DocumentChange::stage(Stage::Done)).await?;
        ctx.set_result(noted.reference(&lies));
        tracing::info!(event = "intake.done", job_id = %ctx.job(), key = %lies, outputs = noted.outputs.len());
        Ok(Done::Complete)
    }

    /// Moves the document, and tells why when that cannot be.
    async fn bring<E: std::fmt::Display>(
        &self,
        ctx: &Context,
        document: &DocumentRow,
        to: Result<Key, E>,
        why: &str,
    ) -> Result<Key, Failure> {
        let to = to.map_err(|error| Failure::new(Code::SystemInternal, error))?;
        let goal = Goal {
            document: document.id,
            token: ctx.lease().token,
            to,
            why,
            meta: std::collections::BTreeMap::new(),
        };
        match self.mover.bring(goal).await.map_err(|error| error.failure())? {
            Moved::To(key) => Ok(key),
            Moved::Overruled => Err(overruled()),
            Moved::Gone => Err(gone()),
        }
    }

    async fn change(&self, ctx: &Context, change: DocumentChange) -> Result<(), Failure> {
        let changed = self.mover.store.change_document(ctx.job(), ctx.lease().token, change).await;
        match changed.map_err(|error| Failure::new(error.code(), error))? {
            true => Ok(()),
            false => Err(overruled()),
        }
    }
}

impl Workload for Intake {
    type Input = Document;

    fn policy(&self) -> Policy {
        self.options.policy.clone()
    }

    fn concurrency(&self) -> usize {
        self.options.concurrency
    }

    async fn source(&self, _: &Document) -> Result<(), Failure> {
        Ok(())
    }

    async fn run(&self, ctx: Context, input: Document) -> Result<Done, Failure> {
        let cap = crate::retries::most(self.engine.store(), &self.options.policy).await?;
        ctx.set_max_attempts(cap);
        let cancelled = ctx.cancellation();
        tokio::select! {
            done = self.run_once(&ctx, &input) => done,
            () = cancelled.cancelled() => Err(Failure::new(Code::Unknown, "the attempt was told to end")),
        }
    }
}

/// A newer attempt has the document; this one has nothing more to say.
fn overruled() -> Failure {
    Failure::new(Code::SystemLeaseLost, "a newer attempt has the document")
}

/// A person took the PDF away.
fn gone() -> Failure {
    Failure::new(Code::SourceMissing, "the PDF is not where it was: somebody took it away")
}

//! A kind of job: what it takes, how it is run, and what is done when it fails.

use redrive_model::{Done, Failure, Policy, Target};
use redrive_store::PerTarget;

use crate::{Context, Input};

/// A registered kind of job.
///
/// ```
/// # use redrive_engine::{Context, Done, Failure, Input, Workload};
/// # #[derive(serde::Serialize, serde::Deserialize)]
/// # struct Invoice { id: u64 }
/// # impl Input for Invoice { const WORKLOAD: &'static str = "send-invoice"; }
/// struct SendInvoice;
///
/// impl Workload for SendInvoice {
///     type Input = Invoice;
///
///     async fn run(&self, ctx: Context, invoice: Invoice) -> Result<Done, Failure> {
///         println!("attempt {}: invoice {}", ctx.attempt(), invoice.id);
///         Ok(Done::Complete)
///     }
/// }
/// ```
pub trait Workload: Send + Sync + 'static {
    /// What it takes.
    type Input: Input;

    /// What is done when it fails: how often, how far apart, when to give up.
    fn policy(&self) -> Policy {
        Policy::on_demand()
    }

    /// So many at once in this process.
    fn concurrency(&self) -> usize {
        10
    }

    /// So many at once in this process that depend on the same target; no limit unless said.
    fn per_target(&self) -> Option<usize> {
        None
    }

    /// Only targets of this kind are limited by [`Workload::per_target`], all of them unless said. The kind is what stands before
    /// the colon of a name: hosts that bear little (`host:example.org`) may share a bucket that bears everything.
    fn per_target_kind(&self) -> Option<&'static str> {
        None
    }

    /// The same for one target, where some bear more or less than [`Workload::per_target`].
    fn at_once(&self, target: &Target) -> Option<usize> {
        PerTarget { limit: self.per_target()?, kind: self.per_target_kind() }.of(target)
    }

    /// Whether what the job needs is still there, asked before it is retried by hand or replayed. The failure says what is
    /// gone; [`Code::SourceMissing`](redrive_model::Code::SourceMissing) is the usual one.
    fn source(&self, input: &Self::Input) -> impl Future<Output = std::result::Result<(), Failure>> + Send {
        let _ = input;
        async { Ok(()) }
    }

    /// Runs one attempt. It may be run more than once for a job: calls to the outside carry
    /// [`Context::idempotency_key`]. When [`Context::cancelled`] resolves, it should come to an end: the right to this
    /// job is gone or going.
    fn run(
        &self,
        ctx: Context,
        input: Self::Input,
    ) -> impl Future<Output = std::result::Result<Done, Failure>> + Send;
}

//! The handlers of this process, by name, with their types erased.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, OnceLock};

use futures::FutureExt;
use futures::future::BoxFuture;
use redrive_model::{Code, Done, Failure, Policy, Target, WorkloadName};
use redrive_store::PerTarget;

use crate::{Context, Input, Permanent, Result, Workload};

/// A policy with the name of its numbers, computed once.
#[derive(Debug, Clone)]
pub(crate) struct Rules {
    pub(crate) policy: Policy,
    pub(crate) version: String,
}

impl From<Policy> for Rules {
    fn from(policy: Policy) -> Self {
        let version = policy.version();
        Self { policy, version }
    }
}

/// What a handler answers.
pub(crate) type Ended = std::result::Result<Done, Failure>;

/// A workload without its type.
pub(crate) trait Handler: Send + Sync {
    /// Runs one attempt. A panic is a failure like any other.
    fn run(self: Arc<Self>, ctx: Context, input: Vec<u8>) -> BoxFuture<'static, Ended>;

    /// Whether what the job needs is still there.
    fn source(self: Arc<Self>, input: Vec<u8>) -> BoxFuture<'static, std::result::Result<(), Failure>> {
        let _ = input;
        async { Ok(()) }.boxed()
    }

    /// So many at once that depend on this target.
    fn at_once(&self, target: &Target) -> Option<usize> {
        let _ = target;
        None
    }

    /// So many at once that depend on the same target, of those that are limited.
    fn per_target(&self) -> Option<PerTarget> {
        None
    }
}

struct Typed<W>(W);

impl<W: Workload> Handler for Typed<W> {
    fn run(self: Arc<Self>, ctx: Context, input: Vec<u8>) -> BoxFuture<'static, Ended> {
        let run = async move {
            let input: W::Input = match serde_json::from_slice(&input) {
                Ok(input) => input,
                Err(error) => return Err(Failure::new(Code::SystemUndecodable, error)),
            };
            self.0.run(ctx, input).await
        };
        caught(run)
    }

    fn source(self: Arc<Self>, input: Vec<u8>) -> BoxFuture<'static, std::result::Result<(), Failure>> {
        let look = async move {
            let input: W::Input = serde_json::from_slice(&input)
                .map_err(|error| Failure::new(Code::SystemUndecodable, error))?;
            self.0.source(&input).await
        };
        look.boxed()
    }

    fn at_once(&self, target: &Target) -> Option<usize> {
        self.0.at_once(target)
    }

    fn per_target(&self) -> Option<PerTarget> {
        Some(PerTarget { limit: self.0.per_target()?, kind: self.0.per_target_kind() })
    }
}

struct Lasting<P>(P);

impl<P: Permanent> Handler for Lasting<P> {
    fn run(self: Arc<Self>, ctx: Context, _input: Vec<u8>) -> BoxFuture<'static, Ended> {
        caught(async move { self.0.run(ctx).await })
    }
}

/// A panic is a failure like any other.
pub(crate) fn caught(run: impl Future<Output = Ended> + Send + 'static) -> BoxFuture<'static, Ended> {
    AssertUnwindSafe(run)
        .catch_unwind()
        .map(|ended| ended.unwrap_or_else(|panic| Err(panicked(&*panic))))
        .boxed()
}

fn panicked(panic: &(dyn std::any::Any + Send)) -> Failure {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    Failure::new(Code::SystemPanic, text.unwrap_or("the handler panicked without a message"))
}

/// A registered workload.
#[derive(Clone)]
pub(crate) struct Registered {
    pub(crate) handler: Arc<dyn Handler>,
    pub(crate) rules: Arc<Rules>,
    pub(crate) concurrency: usize,
    meters: Arc<OnceLock<Meters>>,
}

/// What is counted for every job of a workload, looked up once.
pub(crate) struct Meters {
    pub(crate) active: metrics::Gauge,
    pub(crate) duration: metrics::Histogram,
    pub(crate) completed: metrics::Counter,
}

impl Registered {
    /// The meters, made when the first job runs: by then whoever collects them is there.
    pub(crate) fn meters(&self, name: &WorkloadName) -> &Meters {
        self.meters.get_or_init(|| {
            let workload = || name.to_string();
            Meters {
                active: metrics::gauge!("redrive_jobs_active", "workload" => workload()),
                duration: metrics::histogram!("redrive_job_processing_duration_seconds", "workload" => workload()),
                completed: metrics::counter!("redrive_jobs_completed_total", "workload" => workload()),
            }
        })
    }
}

/// All of them.
#[derive(Clone, Default)]
pub(crate) struct Registry(BTreeMap<WorkloadName, Registered>);

impl Registry {
    /// Adds a workload; a second one of the same name takes its place.
    pub(crate) fn add<W: Workload>(&mut self, workload: W) -> Result<()> {
        let name = WorkloadName::new(W::Input::WORKLOAD)?;
        let (policy, concurrency) = (workload.policy(), workload.concurrency().max(1));
        self.insert(name, Arc::new(Typed(workload)), policy, concurrency);
        Ok(())
    }

    /// Adds a permanent job under its name.
    pub(crate) fn add_permanent<P: Permanent>(&mut self, name: &WorkloadName, job: P) {
        let policy = job.policy();
        self.insert(name.clone(), Arc::new(Lasting(job)), policy, 1);
    }

    pub(crate) fn insert(
        &mut self,
        name: WorkloadName,
        handler: Arc<dyn Handler>,
        policy: Policy,
        concurrency: usize,
    ) {
        let rules = Arc::new(Rules::from(policy));
        if self
            .0
            .insert(name.clone(), Registered { handler, rules, concurrency, meters: Arc::default() })
            .is_some()
        {
            tracing::warn!(event = "workload.replaced", workload = %name, "registered twice: the newer handler runs");
        }
    }

    pub(crate) fn get(&self, name: &WorkloadName) -> Option<&Registered> {
        self.0.get(name)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&WorkloadName, &Registered)> {
        self.0.iter()
    }

    pub(crate) fn names(&self) -> Vec<WorkloadName> {
        self.0.keys().cloned().collect()
    }
}

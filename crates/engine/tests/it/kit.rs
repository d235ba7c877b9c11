//! Workloads for tests: what they do is said by a closure.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use redrive_engine::model::backoff::Backoff;
use redrive_engine::{Code, Context, Done, Failure, Input, Policy, Target, Workload};
use serde::{Deserialize, Serialize};

/// The input of every test job.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Task {
    pub(crate) n: u64,
    #[serde(default)]
    pub(crate) key: Option<String>,
    /// One, or several with commas between.
    #[serde(default)]
    pub(crate) target: Option<String>,
}

impl Task {
    pub(crate) fn n(n: u64) -> Self {
        Self { n, ..Self::default() }
    }
}

impl Input for Task {
    const WORKLOAD: &'static str = "task";

    fn unique_by(&self) -> Option<String> {
        self.key.clone()
    }

    fn targets(&self) -> Vec<Target> {
        self.target.iter().flat_map(|names| names.split(',')).map(|name| Target::new(name).unwrap()).collect()
    }

    fn label(&self) -> Option<String> {
        Some(format!("task {}", self.n))
    }
}

type Run = Arc<dyn Fn(Context, Task) -> BoxFuture<'static, Result<Done, Failure>> + Send + Sync>;

/// A workload that does what the closure says.
#[derive(Clone)]
pub(crate) struct Does {
    run: Run,
    pub(crate) policy: Policy,
    pub(crate) concurrency: usize,
    pub(crate) at_once: Option<usize>,
    /// The source of this task is gone.
    pub(crate) gone: Option<u64>,
}

impl Does {
    pub(crate) fn new<F>(run: impl Fn(Context, Task) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<Done, Failure>> + Send + 'static,
    {
        let run: Run = Arc::new(move |ctx, task| Box::pin(run(ctx, task)));
        Self { run, policy: at_once(3), concurrency: 4, at_once: None, gone: None }
    }
}

impl Workload for Does {
    type Input = Task;

    fn policy(&self) -> Policy {
        self.policy.clone()
    }

    fn concurrency(&self) -> usize {
        self.concurrency
    }

    fn per_target(&self) -> Option<usize> {
        self.at_once
    }

    async fn source(&self, task: &Task) -> Result<(), Failure> {
        match self.gone {
            Some(n) if n == task.n => Err(Failure::new(Code::SourceMissing, "its file is gone")),
            _ => Ok(()),
        }
    }

    async fn run(&self, ctx: Context, task: Task) -> Result<Done, Failure> {
        (self.run)(ctx, task).await
    }
}

/// So many executions, without waiting between them.
pub(crate) fn at_once(max_attempts: u32) -> Policy {
    Policy {
        max_attempts: Some(max_attempts),
        backoff: Backoff::none(),
        attempt_timeout: Duration::from_secs(60),
        ..Policy::on_demand()
    }
}

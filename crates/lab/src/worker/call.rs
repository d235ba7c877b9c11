//! A job that calls a target, whose health is the presence of a file.

use std::path::PathBuf;
use std::time::Duration;

use redrive::{Code, Context, Done, Failure, Input, Policy, Target, Workload};
use serde::{Deserialize, Serialize};

use super::line::Line;
use super::{broken, policy};

/// Says `begin`, calls the target `lab`, and says whether it was `well` or `down`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Call {
    /// The target's own log of calls.
    pub log: PathBuf,
    /// The target is well while this file is there.
    pub health: PathBuf,
    /// A call takes this long.
    pub ms: u64,
}

impl Call {
    /// The name of the target.
    pub const TARGET: &'static str = "lab";
}

impl Input for Call {
    const WORKLOAD: &'static str = "lab.call";

    fn targets(&self) -> Vec<Target> {
        Target::new(Self::TARGET).into_iter().collect()
    }
}

pub(super) struct Calls;

impl Workload for Calls {
    type Input = Call;

    fn policy(&self) -> Policy {
        policy(3)
    }

    async fn run(&self, ctx: Context, input: Call) -> Result<Done, Failure> {
        Line::of("begin", &ctx).append(&input.log).map_err(broken)?;
        tokio::time::sleep(Duration::from_millis(input.ms)).await;
        if !input.health.exists() {
            Line::of("down", &ctx).append(&input.log).map_err(broken)?;
            return Err(Failure::new(Code::TargetUnreachable, "the target is down"));
        }
        Line::of("well", &ctx).append(&input.log).map_err(broken)?;
        Ok(Done::Complete)
    }
}

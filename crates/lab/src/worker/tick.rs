//! A job with many side effects: one line at a time, until it is told that this is enough.

use std::path::PathBuf;
use std::time::Duration;

use redrive::{Code, Context, Done, Failure, Input, Policy, Workload};
use serde::{Deserialize, Serialize};

use super::line::Line;
use super::{broken, policy};

/// Says `tick` every 20 ms until the gate is open. Polite ones listen when they are told to end; the others go on for as
/// long as they are let.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Tick {
    /// Where the lines go.
    pub ledger: PathBuf,
    /// It completes when this file is there.
    pub gate: PathBuf,
    /// It listens.
    pub polite: bool,
}

impl Input for Tick {
    const WORKLOAD: &'static str = "lab.tick";
}

pub(super) struct Ticks;

impl Workload for Ticks {
    type Input = Tick;

    fn policy(&self) -> Policy {
        policy(10)
    }

    async fn run(&self, ctx: Context, input: Tick) -> Result<Done, Failure> {
        while !input.gate.exists() {
            if input.polite && ctx.is_cancelled() {
                return Err(Failure::new(Code::Unknown, "told to end"));
            }
            Line::of("tick", &ctx).append(&input.ledger).map_err(broken)?;
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(Done::Complete)
    }
}

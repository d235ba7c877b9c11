//! A job that takes its time and then leaves one line.

use std::path::PathBuf;
use std::time::Duration;

use redrive::{Code, Context, Done, Failure, Input, Policy, Workload};
use serde::{Deserialize, Serialize};

use super::line::{Line, appears};
use super::{broken, policy};

/// Says `started`, waits, says `wrote`, and completes with the token as its result. It does not listen when it is told to
/// end.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Write {
    /// Where the lines go.
    pub ledger: PathBuf,
    /// It takes this long.
    pub ms: u64,
    /// Then it waits for this file.
    pub gate: Option<PathBuf>,
    /// The first attempt waits for this file instead.
    pub first_gate: Option<PathBuf>,
    /// The first attempt fails at its end.
    pub first_fails: bool,
}

impl Input for Write {
    const WORKLOAD: &'static str = "lab.write";
}

pub(super) struct Writes;

impl Workload for Writes {
    type Input = Write;

    fn policy(&self) -> Policy {
        policy(10)
    }

    fn concurrency(&self) -> usize {
        4
    }

    async fn run(&self, ctx: Context, input: Write) -> Result<Done, Failure> {
        Line::of("started", &ctx).append(&input.ledger).map_err(broken)?;
        tokio::time::sleep(Duration::from_millis(input.ms)).await;
        let first = ctx.lease().token.0 == 1;
        let gate = if first { input.first_gate.or(input.gate) } else { input.gate };
        if let Some(gate) = gate {
            appears(&gate).await;
        }
        Line::of("wrote", &ctx).append(&input.ledger).map_err(broken)?;
        if first && input.first_fails {
            return Err(Failure::new(Code::Unknown, "the first attempt fails"));
        }
        ctx.set_result(ctx.lease().token.0.to_string());
        Ok(Done::Complete)
    }
}

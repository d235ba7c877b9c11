//! A job that blocks its thread and does not listen.

use std::path::PathBuf;
use std::time::Duration;

use redrive::{Context, Done, Failure, Input, Policy, Workload};
use serde::{Deserialize, Serialize};

use super::line::Line;
use super::{BLOCK_TIMEOUT, broken, policy};

/// Says `started`. Its first attempt then blocks its thread until the process ends; a later one says `wrote` and
/// completes.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Block {
    /// Where the lines go.
    pub ledger: PathBuf,
}

impl Input for Block {
    const WORKLOAD: &'static str = "lab.block";
}

pub(super) struct Blocks;

impl Workload for Blocks {
    type Input = Block;

    fn policy(&self) -> Policy {
        Policy { attempt_timeout: BLOCK_TIMEOUT, ..policy(3) }
    }

    fn concurrency(&self) -> usize {
        1
    }

    async fn run(&self, ctx: Context, input: Block) -> Result<Done, Failure> {
        Line::of("started", &ctx).append(&input.ledger).map_err(broken)?;
        while ctx.attempt() == 1 {
            std::thread::sleep(Duration::from_millis(10));
        }
        Line::of("wrote", &ctx).append(&input.ledger).map_err(broken)?;
        Ok(Done::Complete)
    }
}

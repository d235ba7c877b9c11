//! A job that ends its process every time.

use std::path::PathBuf;
use std::time::Duration;

use redrive::{Context, Done, Failure, Input, Policy, Workload};
use serde::{Deserialize, Serialize};

use super::line::Line;
use super::{broken, policy};

/// Says `started` and aborts the process a moment later.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Abort {
    /// Where the line goes.
    pub ledger: PathBuf,
}

impl Input for Abort {
    const WORKLOAD: &'static str = "lab.abort";
}

pub(super) struct Aborts;

impl Workload for Aborts {
    type Input = Abort;

    fn policy(&self) -> Policy {
        policy(10)
    }

    async fn run(&self, ctx: Context, input: Abort) -> Result<Done, Failure> {
        Line::of("started", &ctx).append(&input.ledger).map_err(broken)?;
        // Neighbours are at work by now.
        tokio::time::sleep(Duration::from_millis(30)).await;
        std::process::abort()
    }
}

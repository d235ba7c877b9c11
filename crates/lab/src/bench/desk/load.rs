//! Work that goes on while the desk is looked at: so many resources to fetch are handed in every second.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Result, ensure};
use serde_json::json;
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval};

use super::origin::Origin;
use crate::bench::server::Server;

/// What hands work in; it stops with this.
#[derive(Debug)]
pub struct Load {
    handed: Arc<AtomicU64>,
    task: JoinHandle<Result<()>>,
    _origin: Origin,
}

impl Load {
    /// A manifest of so many resources every second.
    pub async fn start(server: &Arc<Server>, token: &str, per_second: usize) -> Result<Self> {
        let origin = Origin::start().await?;
        let (server, token, from) = (server.clone(), token.to_owned(), origin.address);
        let handed = Arc::new(AtomicU64::new(0));
        let counted = handed.clone();
        let task = tokio::spawn(async move {
            let mut every = interval(Duration::from_secs(1));
            every.set_missed_tick_behavior(MissedTickBehavior::Delay);
            for round in 0u64.. {
                every.tick().await;
                let resources: Vec<_> = (0..per_second)
                    .map(|n| json!({"id": format!("{round}-{n}"), "url": format!("http://{from}/{round}/{n}")}))
                    .collect();
                let manifest = json!({"manifest_version": 1, "resources": resources}).to_string();
                let head = format!(
                    "POST /api/fetch HTTP/1.1\r\nauthorization: Bearer {token}\r\ncontent-type: application/json"
                );
                let (status, answer) = server.ask(&head, manifest.as_bytes()).await?;
                ensure!(status == 202, "the work was refused: {answer}");
                counted.fetch_add(per_second as u64, Ordering::Relaxed);
            }
            Ok(())
        });
        Ok(Self { handed, task, _origin: origin })
    }

    /// How many were handed in so far.
    #[must_use]
    pub fn handed(&self) -> u64 {
        self.handed.load(Ordering::Relaxed)
    }

    /// Nothing was refused until now.
    #[must_use]
    pub fn goes_on(&self) -> bool {
        !self.task.is_finished()
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.task.abort();
    }
}

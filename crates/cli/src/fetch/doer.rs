//! Who does the work, asked in one way: this process, or a server.

use futures::TryStreamExt;
use redrive_api::client::{Client, WantedResources};
use redrive_api::{FetchResources, FetchSnapshot};
use redrive_engine::{BatchId, Engine};
use redrive_fetch::{Format, Manifests};
use redrive_model::Shown;
use redrive_model::breaker::Phase;
use redrive_store::{JobFilter, PageRequest};
use tokio::io::{AsyncWrite, AsyncWriteExt};

use crate::exit::{Exit, Stop};

/// Rows of a page.
const PAGE: usize = 200;

/// A batch, and who works on it.
#[derive(Clone)]
pub(crate) enum Doer {
    /// We.
    Here { engine: Engine, manifests: Manifests, batch: BatchId },
    /// A server.
    There { client: Client, id: String },
}

impl Doer {
    /// How the batch is.
    pub(crate) async fn snapshot(&self) -> Result<FetchSnapshot, Stop> {
        match self {
            Self::Here { manifests, batch, .. } => {
                let row = manifests.batch(*batch).await?.ok_or_else(gone)?;
                Ok(manifests.snapshot(&row).await?)
            }
            Self::There { client, id } => Ok(client.batch(id).await?),
        }
    }

    /// One page of resources in these states.
    pub(crate) async fn resources(
        &self,
        shown: &[Shown],
        cursor: Option<String>,
    ) -> Result<FetchResources, Stop> {
        match self {
            Self::Here { manifests, batch, .. } => {
                let page = PageRequest { limit: PAGE, cursor };
                let wanted = JobFilter { shown: shown.to_vec(), ..JobFilter::default() };
                Ok(manifests.resources(*batch, wanted, page).await?)
            }
            Self::There { client, id } => {
                let states: Vec<&str> = shown.iter().map(|shown| shown.as_str()).collect();
                let status = (!states.is_empty()).then(|| states.join(","));
                let wanted = WantedResources { status, limit: Some(PAGE), cursor };
                Ok(client.resources(id, &wanted).await?)
            }
        }
    }

    /// Writes a manifest of what is missing, one resource a line.
    pub(crate) async fn missing(&self, out: &mut (impl AsyncWrite + Unpin + Send)) -> Result<(), Stop> {
        match self {
            Self::Here { manifests, batch, .. } => {
                let row = manifests.batch(*batch).await?.ok_or_else(gone)?;
                let mut bytes = manifests.missing(&row, Some(Format::Ndjson)).bytes;
                let broke = |failure: redrive_model::Failure| Stop::new(Exit::Failed, failure.message);
                while let Some(piece) = bytes.try_next().await.map_err(broke)? {
                    out.write_all(&piece).await?;
                }
            }
            Self::There { client, id } => {
                let mut missing = client.missing(id, Some(true)).await?;
                while let Some(piece) = missing.chunk().await? {
                    out.write_all(&piece).await?;
                }
            }
        }
        Ok(out.flush().await?)
    }

    /// Hosts, buckets and proxies that nothing is sent to now.
    pub(crate) async fn held(&self) -> Result<Vec<String>, Stop> {
        match self {
            Self::Here { engine, .. } => {
                let rows = engine.store().breakers().await?;
                let held = rows.iter().filter(|row| match row.breaker.phase {
                    Phase::Open { .. } | Phase::HalfOpen { .. } => true,
                    Phase::Closed | Phase::Ramp { .. } => false,
                });
                Ok(held.map(|row| row.target.to_string()).collect())
            }
            Self::There { client, .. } => {
                let held = client.status().await?.breakers;
                Ok(held.into_iter().filter(|row| row.state != "closed").map(|row| row.target).collect())
            }
        }
    }
}

fn gone() -> Stop {
    Stop::new(Exit::NotFound, "the batch is not there any more")
}

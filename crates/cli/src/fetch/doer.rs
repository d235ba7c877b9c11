//! Who does the work, asked in one way: this process, or a server.

use futures::TryStreamExt;
use redrive_api::client::{Client, ClientError, WantedResources};
use redrive_api::{FetchResources, FetchSnapshot};
use redrive_engine::{BatchId, Engine};
use redrive_fetch::{Format, Manifests};
use redrive_model::Shown;
use redrive_store::{BreakerRow, JobFilter, PageRequest};
use tokio::io::{AsyncWrite, AsyncWriteExt};

use crate::exit::{Exit, Stop};

/// The target that every file on this machine needs.
const DISK: &str = "disk";
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

    /// The server is asked in this way from now on.
    pub(super) fn turn_to(&mut self, server: Client) {
        if let Self::There { client, .. } = self {
            *client = server;
        }
    }

    /// How a batch was that is asked for again. What failed of it is asked to start again; here whoever opened it has seen to that.
    pub(crate) async fn again(&self) -> Result<FetchSnapshot, Stop> {
        let seen = self.snapshot().await?;
        if let Self::There { client, id } = self
            && seen.resources_failed > 0
        {
            match client.retry_batch(id).await {
                // Somebody else has asked for the same meanwhile.
                Err(ClientError::Refused(problem)) if problem.code == "CONFLICT_STATE" => {}
                asked => drop(asked?),
            }
        }
        Ok(seen)
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
                let mut bytes = manifests.missing(&row, Some(Format::Ndjson)).await.bytes;
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

    /// Hosts, buckets and proxies that are not asked as usual now, each with the word for its state.
    pub(crate) async fn held(&self) -> Result<Vec<(String, &'static str)>, Stop> {
        let all: Vec<(String, String)> = match self {
            Self::Here { engine, .. } => {
                let (rows, now) = (engine.store().breakers().await?, engine.store().now().await?);
                let state = |row: &BreakerRow| match &row.breaker {
                    breaker if breaker.is_held(now) => "held",
                    breaker if breaker.throttled_until.is_some_and(|until| until > now) => "throttled",
                    breaker => breaker.phase_name(),
                };
                rows.iter().map(|row| (row.target.to_string(), state(row).to_owned())).collect()
            }
            Self::There { client, .. } => {
                let rows = client.status().await?.breakers;
                rows.into_iter().map(|row| (row.target, row.state)).collect()
            }
        };
        Ok(all
            .into_iter()
            .filter_map(|(target, state)| words(&target, &state).map(|words| (target, words)))
            .collect())
    }
}

/// What people are told about a target in this state; nothing when it is asked as usual.
fn words(target: &str, state: &str) -> Option<&'static str> {
    Some(match state {
        "closed" => return None,
        "open" | "half_open" | "throttled" if target == DISK => {
            "is full or cannot be written to; what needs it waits, and goes on by itself when there is room"
        }
        "open" => "does not answer well; what needs it waits, and goes on by itself",
        "half_open" => "is tried with one resource now",
        "ramp" => "answers again; it is asked for little at first",
        "throttled" => "asked for time; what needs it waits as long, and loses nothing",
        "held" => "is held by an operator; what needs it waits until it is released",
        _ => "is not asked as usual now; what needs it waits, and goes on by itself",
    })
}

fn gone() -> Stop {
    Stop::new(Exit::NotFound, "the batch is not there any more")
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn every_state_of_a_target_has_words_of_its_own() {
        let states = ["open", "half_open", "ramp", "throttled", "held", "something new"];
        let told: std::collections::BTreeSet<_> =
            states.iter().map(|state| words("host:a:443", state).unwrap()).collect();
        assert_eq!((told.len(), words("host:a:443", "closed")), (states.len(), None));
    }

    #[test]
    fn a_full_disk_is_called_one() {
        for state in ["open", "half_open", "throttled"] {
            assert!(words("disk", state).unwrap().starts_with("is full"), "{state}");
        }
        assert!(words("disk", "held").unwrap().contains("operator"));
        assert_eq!(words("disk", "closed"), None);
    }
}

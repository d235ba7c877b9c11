//! What downloads are run with: the settings of the contract, by their names.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use redrive_blob::Location;
use redrive_fetch::{CommandOptions, DownloadOptions, Downloads, FetchOptions, GuardOptions, Pools};
use redrive_model::backoff::Backoff;
use redrive_model::policy::Policy;

use super::Values;
use crate::exit::{Exit, Stop};

/// Everything that `serve`, `worker` and `fetch` need to know to download.
#[derive(Debug, Clone)]
pub(crate) struct Fetching {
    /// `FETCH_TO`.
    pub(crate) to: Location,
    /// Other places that a manifest may name.
    pub(crate) also: Vec<Location>,
    pub(crate) manifests: Location,
    pub(crate) download: DownloadOptions,
    /// The names of proxy pools.
    pub(crate) pools: BTreeSet<String>,
    /// The program that is asked about each resource.
    pub(crate) handler: Option<CommandOptions>,
    /// Where copies for it lie.
    pub(crate) scratch: PathBuf,
    backoff: Backoff,
    download_retries: u32,
    storage_retries: u32,
    concurrency: usize,
    per_host: usize,
}

impl Fetching {
    /// Reads them all.
    pub(crate) fn read(values: &Values) -> Result<Self, Stop> {
        let pools = Pools::new(values.pools());
        let pools = pools.map_err(|error| Stop::new(Exit::Usage, format!("[proxy_pools]: {error}")))?;
        let guard = GuardOptions {
            allow_private: values.word("FETCH_ALLOW_PRIVATE")? == "true",
            ports: values.ports("FETCH_PORTS")?,
        };
        let download = DownloadOptions {
            guard,
            pools: Arc::new(pools),
            max_bytes: values.number("FETCH_MAX_BYTES")?,
            deadline: values.time("FETCH_TIMEOUT_SEC")?,
            min_speed: values.number("FETCH_MIN_SPEED")?,
            ..DownloadOptions::default()
        };
        let (base, jitter) = (values.time("RETRY_BASE_DELAY_MS")?, values.time("RETRY_JITTER_MAX_MS")?);
        Ok(Self {
            to: values.location("FETCH_TO")?,
            also: values.places("FETCH_TO_ALSO")?,
            manifests: values.location("MANIFESTS_DIR")?,
            download,
            pools: values.pools().keys().cloned().collect(),
            handler: handler(values)?,
            scratch: scratch(values),
            backoff: Backoff::reliability_with(base, jitter),
            download_retries: values.number("DOWNLOAD_RETRY_LIMIT")?,
            storage_retries: values.number("STORAGE_RETRY_LIMIT")?,
            concurrency: values.number("FETCH_CONCURRENCY")?,
            per_host: values.number("FETCH_PER_HOST")?,
        })
    }

    /// How the workload runs with this client.
    pub(crate) fn options(&self, downloads: &Downloads) -> FetchOptions {
        let policy = FetchOptions::policy(downloads, self.download_retries, self.storage_retries);
        FetchOptions {
            policy: Policy { backoff: self.backoff.clone(), ..policy },
            concurrency: self.concurrency,
            per_host: self.per_host,
        }
    }
}

/// How the handler is called. It gets what it needs to find its own things, and none of our secrets.
fn handler(values: &Values) -> Result<Option<CommandOptions>, Stop> {
    let Some(line) = values.text("FETCH_HANDLER") else { return Ok(None) };
    Ok(Some(CommandOptions {
        line,
        timeout: values.time("FETCH_HANDLER_TIMEOUT_SEC")?,
        scratch: scratch(values),
        environment: values.for_programs(),
    }))
}

fn scratch(values: &Values) -> PathBuf {
    super::data_dir(values).join("handler")
}

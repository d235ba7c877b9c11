//! What `redrive serve` is run with: the settings of the contract, by their names.

use std::time::Duration;

use redrive_blob::Location;
use redrive_convert::{ConvertOptions, RetentionOptions};
use redrive_model::Code;
use redrive_model::backoff::Backoff;
use redrive_model::breaker::{Config, Mode};
use redrive_model::policy::Policy;
use redrive_server::{DoorLimits, Limits};
use url::Url;

use super::number::{bad, or, time};
use super::{Place, env};
use crate::exit::Stop;

const MS: Duration = Duration::from_millis(1);
const SEC: Duration = Duration::from_secs(1);
const DAY: Duration = Duration::from_secs(24 * 3600);
/// XML is larger than the PDF it was made from.
const RESULT_FACTOR: u64 = 20;

/// Everything that `serve` needs to know.
#[derive(Debug, Clone)]
pub(crate) struct Serving {
    pub(crate) uploads: Location,
    pub(crate) results: Location,
    /// Where the gateway is; the built-in one unless said.
    pub(crate) gateway: Option<Url>,
    pub(crate) gateway_timeout: Duration,
    pub(crate) convert: ConvertOptions,
    pub(crate) retention: RetentionOptions,
    pub(crate) lease_ttl: Duration,
    pub(crate) drain: Duration,
    pub(crate) breaker: Config,
    pub(crate) public_url: Option<Url>,
    pub(crate) limits: Limits,
    pub(crate) door: DoorLimits,
}

/// Reads them all.
pub(crate) fn serving(place: &Place) -> Result<Serving, Stop> {
    let max_upload = or("MAX_UPLOAD_BYTES", 52_428_800u64)?;
    let max_result = max_upload.saturating_mul(RESULT_FACTOR);
    let timeout = time("GATEWAY_TIMEOUT_MS", MS, 180_000.0)?;
    let xml = time("XML_TTL_DAYS", DAY, 30.0)?;
    let drain = time("DRAIN_TIMEOUT_SEC", SEC, 25.0)?;
    let mut limits = Limits { max_upload, ..Limits::default() };
    // A session must live to fetch its results.
    limits.session.idle = limits.session.idle.max(xml);
    limits.session.absolute = limits.session.absolute.max(limits.session.idle);
    Ok(Serving {
        uploads: location(place, "UPLOADS_DIR", "uploads")?,
        results: location(place, "RESULTS_DIR", "results")?,
        gateway: url("GATEWAY_URL")?,
        gateway_timeout: timeout,
        convert: ConvertOptions {
            policy: policy()?,
            concurrency: or("WORKER_CONCURRENCY", 4usize)?.max(1),
            max_result,
        },
        retention: RetentionOptions {
            pdf: time("PDF_TTL_DAYS", DAY, 7.0)?,
            xml,
            every: time("RETENTION_INTERVAL_SEC", SEC, 3_600.0)?,
        },
        lease_ttl: time("WORKER_LEASE_TTL_SEC", SEC, 60.0)?,
        drain,
        breaker: breaker(timeout)?,
        public_url: url("PUBLIC_URL")?,
        limits,
        door: DoorLimits { drain, ..DoorLimits::default() },
    })
}

fn policy() -> Result<Policy, Stop> {
    let attempts = or("RETRY_MAX_ATTEMPTS", 3u32)?.max(1);
    let policy = match env("RETRY_POLICY").as_deref() {
        None | Some("reliability") => {
            let base = time("RETRY_BASE_DELAY_MS", MS, 5_000.0)?;
            let jitter = time("RETRY_JITTER_MAX_MS", MS, 5_000.0)?;
            Policy { backoff: Backoff::reliability_with(base, jitter), ..Policy::reliability() }
        }
        Some("stepped") => Policy::stepped(),
        Some(other) => return Err(bad("RETRY_POLICY", other)),
    };
    Ok(Policy { max_attempts: Some(attempts), ..policy })
}

fn breaker(timeout: Duration) -> Result<Config, Stop> {
    let window = or("CIRCUIT_WINDOW", 20u32)?.max(1);
    let cooldown = time("CIRCUIT_COOLDOWN_MS", MS, 30_000.0)?;
    let default = Config::for_timeout(timeout);
    let mode = env("CIRCUIT_MODE");
    let mode = match &mode {
        None => Mode::Hold,
        Some(word) => Mode::parse(word).ok_or_else(|| bad("CIRCUIT_MODE", word))?,
    };
    Ok(Config {
        window,
        threshold: or("CIRCUIT_FAIL_THRESHOLD", 0.5f64)?,
        min_calls: default.min_calls.min(window),
        consecutive: or("CIRCUIT_CONSECUTIVE", 3u32)?,
        cooldown,
        cooldown_ceiling: default.cooldown_ceiling.max(cooldown),
        mode,
        refusal: Code::GwBreakerOpen,
        ..default
    })
}

fn location(place: &Place, name: &str, folder: &str) -> Result<Location, Stop> {
    match env(name) {
        None => Ok(Location::Folder(place.data_dir.join(folder))),
        Some(text) => text.parse().map_err(|_| bad(name, &redrive_model::redact::redact(&text))),
    }
}

fn url(name: &str) -> Result<Option<Url>, Stop> {
    let Some(text) = env(name) else { return Ok(None) };
    match Url::parse(&text) {
        Ok(url) if matches!(url.scheme(), "http" | "https") => Ok(Some(url)),
        Ok(_) | Err(_) => Err(bad(name, &redrive_model::redact::redact(&text))),
    }
}

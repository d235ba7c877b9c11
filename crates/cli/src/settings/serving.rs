//! What `redrive serve` is run with: the settings of the contract, by their names.

use std::net::SocketAddr;
use std::time::Duration;

use redrive_blob::Location;
use redrive_blob::room::Room;
use redrive_convert::{ConvertOptions, RetentionOptions};
use redrive_model::backoff::Backoff;
use redrive_model::policy::Policy;
use redrive_server::{DoorLimits, Limits};
use url::Url;

use super::{Breakers, Digesting, Fetching, Intaking, Secret, Values};
use crate::exit::{Exit, Stop};

/// XML is larger than the PDF it was made from.
const RESULT_FACTOR: u64 = 20;

/// Everything that `serve` and `worker` need to know.
#[derive(Debug, Clone)]
pub(crate) struct Serving {
    pub(crate) listen: SocketAddr,
    pub(crate) uploads: Location,
    pub(crate) results: Location,
    pub(crate) work: Work,
    pub(crate) fetching: Fetching,
    /// What owners of PDFs are told, where there is intake.
    pub(crate) digesting: Option<Digesting>,
    /// The folder or bucket of people, where there is one.
    pub(crate) intaking: Option<Intaking>,
    pub(crate) retention: RetentionOptions,
    pub(crate) public_url: Option<Url>,
    pub(crate) limits: Limits,
    pub(crate) door: DoorLimits,
    pub(crate) operators: Operators,
    /// Where events and dead letters are told.
    pub(crate) nats: Option<Secret>,
}

/// What running conversions takes, in `serve` and in `convert`.
#[derive(Debug, Clone)]
pub(crate) struct Work {
    /// Where the gateway is; the built-in one unless said.
    pub(crate) gateway: Option<Url>,
    pub(crate) gateway_timeout: Duration,
    pub(crate) max_upload: u64,
    pub(crate) convert: ConvertOptions,
    pub(crate) lease_ttl: Duration,
    pub(crate) drain: Duration,
    pub(crate) breakers: Breakers,
}

/// What is for operators alone.
#[derive(Debug, Clone)]
pub(crate) struct Operators {
    /// What they sign in with; made at first start unless said.
    pub(crate) token: Option<Secret>,
    pub(crate) metrics_listen: SocketAddr,
}

impl Serving {
    /// Reads them all.
    pub(crate) fn read(values: &Values) -> Result<Self, Stop> {
        let work = Work::read(values)?;
        let (pdf, xml) = (values.time("PDF_TTL_DAYS")?, values.time("XML_TTL_DAYS")?);
        let room = Room { soft: values.number("DISK_SOFT_BYTES")?, hard: values.number("DISK_HARD_BYTES")? };
        if room.soft < room.hard {
            let text =
                "DISK_SOFT_BYTES must not be less than DISK_HARD_BYTES: it is warned before it is refused";
            return Err(Stop::new(Exit::Usage, text));
        }
        let trusted_proxies = values.networks("TRUSTED_PROXIES")?;
        let mut limits = Limits {
            max_upload: work.max_upload,
            pdf_kept: pdf,
            xml_kept: xml,
            room,
            trusted_proxies,
            ..Limits::default()
        };
        // A session must live to fetch its results.
        limits.session.idle = limits.session.idle.max(xml);
        limits.session.absolute = limits.session.absolute.max(limits.session.idle);
        Ok(Self {
            listen: values.number("LISTEN")?,
            uploads: values.location("UPLOADS_DIR")?,
            results: values.location("RESULTS_DIR")?,
            retention: RetentionOptions { pdf, xml, every: values.time("RETENTION_INTERVAL_SEC")? },
            public_url: values.url("PUBLIC_URL")?,
            limits,
            door: DoorLimits { drain: work.drain, ..DoorLimits::default() },
            fetching: Fetching::read(values)?,
            digesting: Digesting::read(values)?,
            intaking: Intaking::read(values)?,
            operators: Operators {
                token: values.secret("OPERATOR_TOKEN"),
                metrics_listen: values.number("METRICS_LISTEN")?,
            },
            nats: values.secret("NATS_URL"),
            work,
        })
    }
}

/// The largest file that is taken: by the server, by a worker, by a gateway that runs alone.
pub(crate) fn max_upload(values: &Values) -> Result<u64, Stop> {
    values.number("MAX_UPLOAD_BYTES")
}

/// The largest result.
pub(crate) fn max_result(values: &Values) -> Result<u64, Stop> {
    Ok(max_upload(values)?.saturating_mul(RESULT_FACTOR))
}

impl Work {
    /// Reads them all.
    pub(crate) fn read(values: &Values) -> Result<Self, Stop> {
        let max_upload = max_upload(values)?;
        let gateway_timeout = values.time("GATEWAY_TIMEOUT_MS")?;
        Ok(Self {
            gateway: values.url("GATEWAY_URL")?,
            gateway_timeout,
            max_upload,
            convert: ConvertOptions {
                policy: policy(values)?,
                concurrency: values.number("WORKER_CONCURRENCY")?,
                max_result: max_result(values)?,
            },
            lease_ttl: values.time("WORKER_LEASE_TTL_SEC")?,
            drain: values.time("DRAIN_TIMEOUT_SEC")?,
            breakers: Breakers::read(values, gateway_timeout)?,
        })
    }
}

fn policy(values: &Values) -> Result<Policy, Stop> {
    let policy = if values.word("RETRY_POLICY")? == "stepped" {
        Policy::stepped()
    } else {
        let (base, jitter) = (values.time("RETRY_BASE_DELAY_MS")?, values.time("RETRY_JITTER_MAX_MS")?);
        Policy { backoff: Backoff::reliability_with(base, jitter), ..Policy::reliability() }
    };
    Ok(Policy { max_attempts: Some(values.number("RETRY_MAX_ATTEMPTS")?), ..policy })
}

#[cfg(test)]
mod tests {
    use super::super::Environment;
    use super::*;

    fn with(name: &'static str, text: &str) -> Values {
        Values::gather(&[(name, text.to_owned())], Environment::default(), None)
    }

    #[test]
    fn the_defaults_are_those_of_the_contract() {
        let serving = Serving::read(&with("LISTEN", "")).unwrap();
        assert_eq!(serving.listen.to_string(), "127.0.0.1:8080");
        assert_eq!(serving.work.convert.policy.max_attempts, Some(3));
        assert_eq!(serving.work.convert.concurrency, 4);
        assert_eq!(serving.work.gateway_timeout, Duration::from_secs(180));
        assert_eq!(serving.operators.metrics_listen.to_string(), "127.0.0.1:9090");
        assert_eq!(serving.limits.room, Room::default());
        assert_eq!(serving.operators.token, None);
    }

    #[test]
    fn the_soft_limit_warns_before_the_hard_one_refuses() {
        assert!(Serving::read(&with("DISK_SOFT_BYTES", "1")).is_err());
    }

    #[test]
    fn a_token_is_not_printed_with_what_holds_it() {
        let environment = Environment { variables: vec![("OPERATOR_TOKEN".to_owned(), "canary".to_owned())] };
        let serving = Serving::read(&Values::gather(&[], environment, None)).unwrap();
        assert_eq!(serving.operators.token.as_ref().unwrap().reveal(), "canary");
        assert!(!format!("{serving:?}").contains("canary"));
    }
}

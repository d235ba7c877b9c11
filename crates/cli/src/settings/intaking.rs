//! What intake is run with: the settings of the contract, by their names.

use std::time::Duration;

use redrive_blob::Location;
use redrive_intake::MOST_RETRIES;
use redrive_model::backoff::Backoff;
use redrive_model::policy::Policy;

use super::Values;
use crate::exit::{Exit, Stop};

/// Everything that `serve` and `worker` need to know to take PDFs from a folder or a bucket.
#[derive(Debug, Clone)]
pub(crate) struct Intaking {
    /// `INTAKE_URL`.
    pub(crate) place: Location,
    pub(crate) policy: Policy,
    pub(crate) max_retries: u32,
    pub(crate) interval: Duration,
    pub(crate) max_in_flight: usize,
    pub(crate) mapping: Option<String>,
    pub(crate) concurrency: usize,
}

impl Intaking {
    /// Reads them all; nothing while `INTAKE_URL` is unset.
    pub(crate) fn read(values: &Values) -> Result<Option<Self>, Stop> {
        let max_retries: u32 = values.number("INTAKE_MAX_RETRIES")?;
        if max_retries > MOST_RETRIES {
            let text =
                format!("INTAKE_MAX_RETRIES is {max_retries}, but it must not be above {MOST_RETRIES}");
            return Err(Stop::new(Exit::Usage, text));
        }
        let (base, jitter) = (values.time("RETRY_BASE_DELAY_MS")?, values.time("RETRY_JITTER_MAX_MS")?);
        let backoff = Backoff::reliability_with(base, jitter);
        let Some(_) = values.text("INTAKE_URL") else { return Ok(None) };
        let place = values.location("INTAKE_URL")?;
        for name in ["UPLOADS_DIR", "RESULTS_DIR", "FETCH_TO", "MANIFESTS_DIR"] {
            if values.location(name)? == place {
                let text = format!(
                    "INTAKE_URL and {name} are both {place}: people's files need a place of their own"
                );
                return Err(Stop::new(Exit::Usage, text));
            }
        }
        Ok(Some(Self {
            place,
            // Every failure is tried again: people asked for a number of tries, whatever goes wrong.
            policy: Policy { backoff, retry_all: true, ..Policy::reliability() }
                .with_max_retries(max_retries),
            max_retries,
            interval: values.time("INTAKE_INTERVAL_SEC")?,
            max_in_flight: values.number("INTAKE_MAX_IN_FLIGHT")?,
            mapping: values.text("INTAKE_MAPPING"),
            concurrency: values.number("WORKER_CONCURRENCY")?,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Environment;
    use super::*;

    fn with(given: &[(&'static str, &str)]) -> Result<Option<Intaking>, Stop> {
        let given: Vec<_> = given.iter().map(|(name, text)| (*name, (*text).to_owned())).collect();
        Intaking::read(&Values::gather(&given, Environment::default(), None))
    }

    #[test]
    fn intake_is_off_until_it_has_a_place() {
        assert!(with(&[]).unwrap().is_none());
        let intaking = with(&[("INTAKE_URL", "file:///srv/intake")]).unwrap().unwrap();
        assert_eq!(intaking.place, Location::Folder("/srv/intake".into()));
        assert_eq!((intaking.policy.max_attempts, intaking.policy.retry_all), (Some(4), true));
        assert_eq!((intaking.interval, intaking.max_in_flight), (Duration::from_secs(120), 10));
    }

    #[test]
    fn a_number_of_retries_or_a_place_that_cannot_be_is_refused() {
        assert!(with(&[("INTAKE_MAX_RETRIES", "1001")]).unwrap_err().message().contains("1000"));
        let same = with(&[("INTAKE_URL", "s3://b/x"), ("RESULTS_DIR", "s3://b/x")]).unwrap_err();
        assert!(same.message().contains("RESULTS_DIR"), "{}", same.message());
    }
}

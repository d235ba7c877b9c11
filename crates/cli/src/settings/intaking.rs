//! What intake is run with: the settings of the contract, by their names.

use std::time::Duration;

use redrive_blob::Location;
use redrive_intake::{CommandOptions, MOST_RETRIES};
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
    pub(crate) pages_per_part: u32,
    /// With less free space than this nothing is taken in.
    pub(crate) reserve: u64,
    /// `INTAKE_COMMAND`, and how it is called.
    pub(crate) command: Option<CommandOptions>,
}

/// Beside the time of the program, moves and copies have so long.
const AROUND: Duration = Duration::from_secs(15 * 60);

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
        let command = command(values)?;
        let usual = Policy::reliability();
        let attempt_timeout =
            command.as_ref().map_or(usual.attempt_timeout, |command| command.timeout.saturating_add(AROUND));
        Ok(Some(Self {
            place,
            // Every failure is tried again: people asked for a number of tries, whatever goes wrong.
            policy: Policy { backoff, retry_all: true, attempt_timeout, ..usual }
                .with_max_retries(max_retries),
            pages_per_part: values.number("INTAKE_PART_PAGES")?,
            reserve: values.number("DISK_HARD_BYTES")?,
            command,
            max_retries,
            interval: values.time("INTAKE_INTERVAL_SEC")?,
            max_in_flight: values.number("INTAKE_MAX_IN_FLIGHT")?,
            mapping: values.text("INTAKE_MAPPING"),
            concurrency: values.number("WORKER_CONCURRENCY")?,
        }))
    }
}

/// How the program is called. It gets what it needs to find its own things, and none of our secrets.
fn command(values: &Values) -> Result<Option<CommandOptions>, Stop> {
    let Some(line) = values.text("INTAKE_COMMAND") else { return Ok(None) };
    let memory: u64 = values.number("INTAKE_COMMAND_MEMORY_BYTES")?;
    Ok(Some(CommandOptions {
        line,
        environment: values.for_programs(),
        timeout: values.time("INTAKE_COMMAND_TIMEOUT_SEC")?,
        memory: Some(memory).filter(|bytes| *bytes > 0),
        scratch: super::data_dir(values).join("command"),
        max_result: super::max_result(values)?,
    }))
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
        assert_eq!((intaking.pages_per_part, intaking.command.is_none()), (50, true));
    }

    #[test]
    fn a_program_has_its_time_and_memory_and_none_of_our_secrets() {
        let place = ("INTAKE_URL", "file:///srv/intake");
        let run = ("INTAKE_COMMAND", "/opt/ocr --language de");
        let limits = [("INTAKE_COMMAND_TIMEOUT_SEC", "7200"), ("INTAKE_COMMAND_MEMORY_BYTES", "0")];
        let intaking = with(&[place, run, limits[0], limits[1]]).unwrap().unwrap();
        let command = intaking.command.unwrap();
        assert_eq!((command.line.as_str(), command.memory), ("/opt/ocr --language de", None));
        assert!(intaking.policy.attempt_timeout > command.timeout, "an attempt outlives its program");
        let known = |name: &str| matches!(name, "PATH" | "HOME" | "LANG");
        assert!(command.environment.iter().all(|(name, _)| known(name)));
        let usual = with(&[place, run]).unwrap().unwrap().command.unwrap();
        assert_eq!((usual.memory, usual.timeout), (Some(2 << 30), Duration::from_secs(600)));
    }

    #[test]
    fn a_number_of_retries_or_a_place_that_cannot_be_is_refused() {
        assert!(with(&[("INTAKE_MAX_RETRIES", "1001")]).unwrap_err().message().contains("1000"));
        let same = with(&[("INTAKE_URL", "s3://b/x"), ("RESULTS_DIR", "s3://b/x")]).unwrap_err();
        assert!(same.message().contains("RESULTS_DIR"), "{}", same.message());
    }
}

//! The numbers of each target's breaker: what people set holds for all of them, how long a call may take and what a job fails with
//! depends on what kind of target it is.

use std::sync::Arc;
use std::time::Duration;

use redrive_engine::BreakerOf;
use redrive_model::breaker::{Config, Mode};
use redrive_model::{Code, Target};

use super::Values;
use crate::exit::Stop;

/// Hosts, buckets and proxies are silent for so long at most: an answer, or its next bytes, come sooner or not at all. A whole
/// download may take much longer.
const SILENT: Duration = Duration::from_secs(60);

/// Somebody sits before a command that fetches on its own and waits for its end.
const SOMEBODY_WAITS: Duration = Duration::from_secs(60);

/// The numbers by kind of target.
#[derive(Debug, Clone)]
pub(crate) struct Breakers {
    gateway: Config,
    hosts: Config,
    others: Config,
}

impl Breakers {
    /// Reads them; calls to the gateway may take so long.
    pub(crate) fn read(values: &Values, gateway_timeout: Duration) -> Result<Self, Stop> {
        let of = |timeout: Duration, refusal: Code| -> Result<Config, Stop> {
            let window = values.number("CIRCUIT_WINDOW")?;
            let cooldown = values.time("CIRCUIT_COOLDOWN_MS")?;
            let default = Config::for_timeout(timeout);
            Ok(Config {
                window,
                threshold: values.number("CIRCUIT_FAIL_THRESHOLD")?,
                min_calls: default.min_calls.min(window),
                consecutive: values.number("CIRCUIT_CONSECUTIVE")?,
                cooldown,
                cooldown_ceiling: default.cooldown_ceiling.max(cooldown),
                mode: Mode::parse(&values.word("CIRCUIT_MODE")?).unwrap_or(Mode::Hold),
                refusal,
                ..default
            })
        };
        // A path that resets again and again, or an object that is never taken, is no reason to leave all others alone. A small office's one
        // PDF that fails again may be all that there is to tell that the gateway is down.
        let others = Config { counts_retries: false, ..of(SILENT, Code::SystemBreakerOpen)? };
        let hosts = Config { patience: Some(values.time("FETCH_PATIENCE_SEC")?), ..others.clone() };
        Ok(Self { gateway: of(gateway_timeout, Code::GwBreakerOpen)?, hosts, others })
    }

    /// For a command that somebody waits for: it gives up sooner, whatever is down.
    pub(crate) fn for_a_command(self, values: &Values) -> Self {
        let set = super::is_set(values, "FETCH_PATIENCE_SEC");
        let patience = self.hosts.patience.filter(|_| set).or(Some(SOMEBODY_WAITS));
        let sooner = |config: Config| Config { patience, ..config };
        Self { hosts: sooner(self.hosts), others: sooner(self.others), ..self }
    }

    /// What happens to jobs while a target is down.
    pub(crate) const fn mode(&self) -> Mode {
        self.gateway.mode
    }

    /// What the engine asks for each target.
    pub(crate) fn by_target(&self) -> BreakerOf {
        let Self { gateway, hosts, others } = self.clone();
        Arc::new(move |target: &Target| {
            let of = match target.kind() {
                _ if target.as_str() == redrive_convert::TARGET => &gateway,
                "host" => &hosts,
                _ => &others,
            };
            of.clone()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::Environment;
    use super::*;

    #[test]
    fn each_kind_of_target_has_its_own_refusal_and_times() {
        let set = [("CIRCUIT_MODE", "fail_fast".to_owned()), ("CIRCUIT_WINDOW", "7".to_owned())];
        let values = Values::gather(&set, Environment::default(), None);
        let of = Breakers::read(&values, Duration::from_secs(600)).unwrap().by_target();
        let of = |name: &str| of(&Target::new(name).unwrap());
        let gateway = of("gateway");
        assert_eq!((gateway.refusal, gateway.mode, gateway.window), (Code::GwBreakerOpen, Mode::FailFast, 7));
        assert_eq!(gateway.max_age, Duration::from_secs(2400));
        for name in ["host:a.example", "host:gateway", "bucket:scans", "proxies:office", "disk"] {
            let config = of(name);
            assert_eq!(
                (config.refusal, config.mode, config.window),
                (Code::SystemBreakerOpen, Mode::FailFast, 7),
                "{name}"
            );
            assert_eq!(
                config.max_age,
                Duration::from_secs(240),
                "{name} is not judged by the gateway's time"
            );
            assert!(!config.counts_retries, "{name}");
            let of_a_host = name.starts_with("host:");
            assert_eq!(config.patience, of_a_host.then_some(Duration::from_secs(21_600)), "{name}");
        }
        assert!(gateway.counts_retries && gateway.patience.is_none());
    }

    #[test]
    fn whoever_sits_before_a_command_waits_a_minute_or_as_long_as_said() {
        for (set, patience) in [(vec![], 60), (vec![("FETCH_PATIENCE_SEC", "7".to_owned())], 7)] {
            let values = Values::gather(&set, Environment::default(), None);
            let read = Breakers::read(&values, Duration::from_secs(600)).unwrap();
            let of = read.for_a_command(&values).by_target();
            for name in ["host:a.example", "bucket:scans", "proxies:office"] {
                let config = of(&Target::new(name).unwrap());
                assert_eq!(config.patience, Some(Duration::from_secs(patience)), "{name}");
            }
        }
    }
}

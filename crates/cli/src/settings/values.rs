//! The values as they were given, each with where it came from: flags > environment > `redrive.toml` > defaults. What the store keeps stands
//! above them; whoever can ask it puts that on top (`redrive_server::in_force`).

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use ipnet::IpNet;
use jiff::tz::TimeZone;
use redrive_blob::Location;
use redrive_fetch::PoolOptions;
use redrive_model::redact;
use redrive_model::schedule::Schedule;
use url::Url;

use super::table::{Kind, Setting, Use};
use super::{Environment, Secret, StoreUrl, file, kind, near, settings};
use crate::exit::{Exit, Stop};

/// Where a value came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    Flag,
    Environment,
    File {
        path: PathBuf,
        line: usize,
    },
    /// `redrive demo` has settings of its own.
    Demo,
    Default,
}

impl Origin {
    /// One word of a closed set.
    pub(crate) const fn word(&self) -> &'static str {
        match self {
            Self::Flag => "flag",
            Self::Environment => "env",
            Self::File { .. } => "file",
            Self::Demo => "demo",
            Self::Default => "default",
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag | Self::Environment | Self::Demo | Self::Default => f.write_str(self.word()),
            Self::File { path, line } => write!(f, "{} line {line}", path.display()),
        }
    }
}

#[derive(Debug, Clone)]
struct Given {
    text: String,
    origin: Origin,
}

/// All settings as they are.
#[derive(Clone)]
pub(crate) struct Values {
    given: BTreeMap<&'static str, Given>,
    problems: Vec<String>,
    warnings: Vec<String>,
    pools: BTreeMap<String, PoolOptions>,
    file: Option<PathBuf>,
    environment: Environment,
}

impl fmt::Debug for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Values").field("problems", &self.problems).finish_non_exhaustive()
    }
}

impl Values {
    /// Puts together what was said where. An empty value counts as unset.
    pub(crate) fn gather(
        flags: &[(&'static str, String)],
        environment: Environment,
        named: Option<&Path>,
    ) -> Self {
        Self::of(flags, Origin::Flag, environment, file::read(named))
    }

    /// The demo's and nothing else: neither the environment nor a file is asked.
    pub(crate) fn of_demo(given: &[(&'static str, String)]) -> Self {
        Self::of(given, Origin::Demo, Environment::default(), file::Read::default())
    }

    fn of(said: &[(&'static str, String)], by: Origin, environment: Environment, read: file::Read) -> Self {
        let mut warnings = Vec::new();
        for (name, _) in &environment.variables {
            if let Some(meant) = near::slip(name) {
                warnings
                    .push(format!("the environment has {name}, which is no setting; did you mean {meant}?"));
            }
        }
        let mut given = BTreeMap::new();
        let mut take = |name: &'static str, text: &str, origin| {
            let text = text.trim().to_owned();
            if !text.is_empty() {
                given.insert(name, Given { text, origin });
            }
        };
        for setting in settings() {
            let name = setting.name;
            if let (Some(entry), Some(path)) = (read.entries.get(name), &read.path) {
                take(name, &entry.text, Origin::File { path: path.clone(), line: entry.line });
            }
            if let Some(text) = environment.get(name) {
                take(name, text, Origin::Environment);
            }
            if let Some((_, text)) = said.iter().find(|(one, _)| *one == name) {
                take(name, text, by.clone());
            }
        }
        for setting in settings().filter(|setting| setting.used == 0) {
            if let Some(Given { origin, .. }) = given.get(setting.name) {
                warnings.push(format!("{} ({origin}) is not used yet", setting.name));
            }
        }
        Self { given, problems: read.problems, warnings, pools: read.pools, file: read.path, environment }
    }

    /// What is worth a warning and stops nothing.
    pub(crate) fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Everything that is wrong, for somebody who uses these settings.
    pub(crate) fn problems(&self, used: Use) -> Vec<String> {
        let mut problems = self.problems.clone();
        for setting in settings().filter(|setting| setting.used & used != 0 || used == Use::MAX) {
            if let Some(given) =
                self.given.get(setting.name).filter(|given| !kind::accepts(setting.kind, &given.text))
            {
                problems.push(wrong(setting, &given.text, &given.origin));
            }
        }
        problems
    }

    /// Stops with every problem at once.
    pub(crate) fn check(&self, used: Use) -> Result<(), Stop> {
        let problems = self.problems(used);
        if problems.is_empty() { Ok(()) } else { Err(Stop::new(Exit::Usage, problems.join("\nredrive: "))) }
    }

    /// Where the value of this setting came from.
    pub(crate) fn origin(&self, name: &str) -> Origin {
        self.given.get(name).map_or(Origin::Default, |given| given.origin.clone())
    }

    /// The file, when it holds a secret: a masked setting, a URL with a password, proxies.
    pub(crate) fn file_with_secrets(&self) -> Option<&Path> {
        let hides = |setting: &&Setting| {
            self.given.get(setting.name).is_some_and(|given| {
                matches!(given.origin, Origin::File { .. })
                    && (setting.secret || redact::redact(&given.text) != given.text)
            })
        };
        let secret = !self.pools.is_empty() || settings().find(hides).is_some();
        self.file.as_deref().filter(|_| secret)
    }

    /// The value in force; nothing when it is unset.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        if let Some(given) = self.given.get(name) {
            return Some(given.text.clone());
        }
        let default = settings().find(|setting| setting.name == name)?.default;
        match default {
            "" => None,
            _ if default.contains("DATA_DIR") => Some(default.replace("DATA_DIR", &self.text("DATA_DIR")?)),
            _ => Some(default.to_owned()),
        }
    }

    /// The value as people may see it.
    pub(crate) fn shown(&self, setting: &Setting) -> Option<String> {
        self.text(setting.name).map(|text| kind::shown(setting, &text))
    }

    /// What a program that is not ours gets of the environment: what it needs to find its own things, and none of our secrets.
    pub(crate) fn for_programs(&self) -> Vec<(String, String)> {
        let passed = |(name, _): &(String, String)| matches!(name.as_str(), "PATH" | "HOME" | "LANG");
        self.variables().into_iter().filter(passed).collect()
    }

    /// The environment, with what the file says under the names that a library knows itself (`AWS_…`).
    pub(crate) fn variables(&self) -> Vec<(String, String)> {
        let ours = settings().filter(|s| s.name.starts_with("AWS_") || s.name.starts_with("S3_"));
        let given = ours.filter_map(|s| Some((s.name.to_owned(), self.given.get(s.name)?.text.clone())));
        self.environment.variables.iter().cloned().chain(given).collect()
    }

    fn get<T>(&self, name: &str, read: impl FnOnce(&str) -> Option<T>) -> Result<T, Stop> {
        let text = self.text(name).unwrap_or_default();
        read(&text).ok_or_else(|| {
            let setting = settings().find(|setting| setting.name == name);
            let what = setting.map(|setting| wrong(setting, &text, &self.origin(name)));
            Stop::new(Exit::Usage, what.unwrap_or_else(|| format!("{name} is no setting")))
        })
    }

    fn optional<T>(&self, name: &str, read: impl FnOnce(&str) -> Option<T>) -> Result<Option<T>, Stop> {
        if self.text(name).is_none() { Ok(None) } else { self.get(name, read).map(Some) }
    }

    pub(super) fn number<T: FromStr>(&self, name: &str) -> Result<T, Stop> {
        self.get(name, |text| text.parse().ok())
    }

    pub(super) fn word(&self, name: &str) -> Result<String, Stop> {
        self.get(name, |text| Some(text.to_owned()))
    }

    pub(super) fn time(&self, name: &str) -> Result<Duration, Stop> {
        let kind = settings().find(|setting| setting.name == name).map(|setting| setting.kind);
        self.get(name, |text| match kind {
            Some(Kind::Time { unit, .. }) => kind::time(unit, text),
            Some(_) | None => None,
        })
    }

    pub(super) fn location(&self, name: &str) -> Result<Location, Stop> {
        self.get(name, |text| text.parse().ok())
    }

    pub(super) fn store(&self) -> Result<StoreUrl, Stop> {
        self.get("DATABASE_URL", kind::store)
    }

    pub(super) fn url(&self, name: &str) -> Result<Option<Url>, Stop> {
        self.optional(name, kind::url)
    }

    pub(super) fn networks(&self, name: &str) -> Result<Vec<IpNet>, Stop> {
        Ok(self.optional(name, kind::networks)?.unwrap_or_default())
    }

    pub(super) fn ports(&self, name: &str) -> Result<Vec<u16>, Stop> {
        self.get(name, kind::ports)
    }

    pub(super) fn places(&self, name: &str) -> Result<Vec<Location>, Stop> {
        Ok(self.optional(name, kind::places)?.unwrap_or_default())
    }

    pub(super) fn zone(&self, name: &str) -> Result<TimeZone, Stop> {
        self.get(name, kind::zone)
    }

    /// Each day at the time that one setting says, in the zone that another says.
    pub(super) fn daily(&self, at: &str, zone: &str) -> Result<Schedule, Stop> {
        let schedule = self.get(at, kind::clock)?;
        self.get(zone, |name| schedule.in_zone(name).ok())
    }

    /// Proxies, as the file has them.
    pub(crate) fn pools(&self) -> &BTreeMap<String, PoolOptions> {
        &self.pools
    }

    pub(super) fn secret(&self, name: &str) -> Option<Secret> {
        self.text(name).map(Secret)
    }
}

fn wrong(setting: &Setting, text: &str, origin: &Origin) -> String {
    let (name, shown) = (setting.name, kind::shown(setting, text));
    let from = match origin {
        Origin::Flag => format!("from --{}", super::flags::flag(name)),
        Origin::Environment => "from the environment".to_owned(),
        Origin::File { .. } | Origin::Demo | Origin::Default => origin.to_string(),
    };
    format!("{name} is {shown:?} ({from}), but it must be {}", setting.kind.words())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(flags: &[(&'static str, &str)], environment: &[(&str, &str)], file: &str) -> Values {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("r.toml");
        std::fs::write(&path, file).unwrap();
        let flags: Vec<_> = flags.iter().map(|(name, text)| (*name, (*text).to_owned())).collect();
        let variables = environment.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
        Values::gather(&flags, Environment { variables }, Some(&path))
    }

    #[test]
    fn what_the_demo_sets_is_said_to_be_the_demos() {
        let values = Values::of_demo(&[("LISTEN", "127.0.0.1:0".into())]);
        assert_eq!((values.origin("LISTEN").word(), values.origin("DATA_DIR").word()), ("demo", "default"));
    }

    #[test]
    fn flags_win_over_the_environment_over_the_file_over_defaults() {
        let file = "listen = '127.0.0.1:1'\nretry_max_attempts = 7\ncircuit_window = 9\n";
        let environment = [("LISTEN", "127.0.0.1:2"), ("RETRY_MAX_ATTEMPTS", "8"), ("DATA_DIR", "")];
        let values = values(&[("LISTEN", "127.0.0.1:3")], &environment, file);
        let of = |name| (values.text(name).unwrap(), values.origin(name).word());
        assert_eq!(of("LISTEN"), ("127.0.0.1:3".to_owned(), "flag"));
        assert_eq!(of("RETRY_MAX_ATTEMPTS"), ("8".to_owned(), "env"));
        assert_eq!(of("CIRCUIT_WINDOW"), ("9".to_owned(), "file"));
        assert_eq!(of("DATA_DIR"), ("redrive-data".to_owned(), "default"));
        assert_eq!(of("UPLOADS_DIR"), ("redrive-data/uploads".to_owned(), "default"));
    }

    #[test]
    fn a_file_is_told_when_it_holds_a_secret_and_not_otherwise() {
        for (file, holds) in [
            ("listen = '127.0.0.1:1'\n", false),
            ("database_url = 'postgres://h/d'\n", false),
            ("database_url = 'postgres://u:p@h/d'\n", true),
            ("operator_token = 'x'\n", true),
            ("[proxy_pools]\neu = ['http://u:p@h:1']\n", true),
        ] {
            assert_eq!(values(&[], &[], file).file_with_secrets().is_some(), holds, "{file}");
        }
        let elsewhere = values(&[], &[("OPERATOR_TOKEN", "x")], "listen = '127.0.0.1:1'\n");
        assert!(elsewhere.file_with_secrets().is_none(), "the environment is no file");
    }

    #[test]
    fn all_problems_are_told_at_once_and_only_to_those_who_use_the_setting() {
        let environment = [("RETRY_MAX_ATTEMPTS", "zero"), ("DATABASE_URL", "mysql://u:canary@h")];
        let values = values(&[("LISTEN", "here")], &environment, "colour = 1\n");
        let problems = values.problems(Use::MAX).join("\n");
        assert_eq!(problems.lines().count(), 4, "{problems}");
        assert!(
            problems.contains("LISTEN is \"here\" (from --listen), but it must be an address"),
            "{problems}"
        );
        assert!(problems.contains("RETRY_MAX_ATTEMPTS is \"zero\" (from the environment)"), "{problems}");
        assert!(!problems.contains("canary"), "{problems}");
        assert_eq!(values.problems(super::super::table::CLIENT).len(), 1, "the file's is everybody's");
    }

    #[test]
    fn what_is_not_used_yet_and_what_is_nearly_ours_is_warned_about() {
        let values = values(&[], &[("RETRY_MAX_ATTEMPT", "5"), ("HOME", "/")], "webhook_url = 'http://x'\n");
        let warnings = values.warnings().join("\n");
        assert!(warnings.contains("WEBHOOK_URL (") && warnings.contains("is not used yet"), "{warnings}");
        assert!(warnings.contains("did you mean RETRY_MAX_ATTEMPTS?"), "{warnings}");
        assert_eq!(warnings.lines().count(), 2, "{warnings}");
    }
}

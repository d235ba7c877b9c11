//! Reading a value by its kind. Times take fractions, so that a day can be tried in a second.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use ipnet::IpNet;
use jiff::tz::TimeZone;
use redrive_blob::Location;
use redrive_model::schedule::Schedule;
use redrive_model::{redact, text};

use super::table::{Kind, Setting, Unit};
use super::{Secret, StoreUrl};

/// What is shown in place of a secret.
pub(super) const MASK: &str = "********";

/// Whether the text can be used.
pub(super) fn accepts(kind: Kind, text: &str) -> bool {
    match kind {
        Kind::Address => text.parse::<SocketAddr>().is_ok(),
        Kind::Folder | Kind::Text => true,
        Kind::Place => text.parse::<Location>().is_ok(),
        Kind::Database => store(text).is_some(),
        Kind::Url => url(text).is_some(),
        Kind::Count | Kind::Bytes => text.parse::<u64>().is_ok(),
        Kind::Positive => text.parse::<u32>().is_ok_and(|count| count > 0),
        Kind::Share => text.parse::<f64>().is_ok_and(|share| share.is_finite() && share >= 0.0),
        Kind::Time { unit, zero } => time(unit, text).is_some_and(|time| zero || !time.is_zero()),
        Kind::OneOf(words) => words.contains(&text),
        Kind::Networks => networks(text).is_some(),
        Kind::Ports => ports(text).is_some(),
        Kind::Places => places(text).is_some(),
        Kind::Clock => clock(text).is_some(),
        Kind::Zone => zone(text).is_some(),
    }
}

/// The value as people may see it.
pub(super) fn shown(setting: &Setting, value: &str) -> String {
    let plain = match setting.kind {
        _ if setting.secret => return MASK.to_owned(),
        Kind::Url | Kind::Database | Kind::Place => redact::redact_address(value),
        Kind::Places => redact::redact(value),
        Kind::Address
        | Kind::Folder
        | Kind::Count
        | Kind::Positive
        | Kind::Bytes
        | Kind::Share
        | Kind::Time { .. }
        | Kind::OneOf(_)
        | Kind::Networks
        | Kind::Ports
        | Kind::Clock
        | Kind::Zone
        | Kind::Text => value.to_owned(),
    };
    text::one_line(&plain, 200, false)
}

pub(super) fn time(unit: Unit, text: &str) -> Option<Duration> {
    let unit = match unit {
        Unit::Days => 86_400.0,
        Unit::Seconds => 1.0,
        Unit::Milliseconds => 0.001,
    };
    let seconds = text.parse::<f64>().ok()? * unit;
    (seconds >= 0.0).then(|| Duration::try_from_secs_f64(seconds).ok())?
}

pub(super) fn url(text: &str) -> Option<url::Url> {
    url::Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https"))
}

/// A single address is a network of one.
pub(super) fn networks(text: &str) -> Option<Vec<IpNet>> {
    let network = |part: &str| part.parse().ok().or_else(|| part.parse::<IpAddr>().ok().map(IpNet::from));
    list(text, network)
}

/// Ports; 0 is none.
pub(super) fn ports(text: &str) -> Option<Vec<u16>> {
    list(text, |part| part.parse().ok().filter(|port| *port > 0))
}

pub(super) fn places(text: &str) -> Option<Vec<Location>> {
    list(text, |part| part.parse().ok())
}

/// One time of day.
pub(super) fn clock(text: &str) -> Option<Schedule> {
    Schedule::daily(text).ok().filter(|_| !text.contains(','))
}

/// A time zone by its name.
pub(super) fn zone(text: &str) -> Option<TimeZone> {
    TimeZone::get(text).ok()
}

/// What stands between commas.
fn list<T>(text: &str, read: impl Fn(&str) -> Option<T>) -> Option<Vec<T>> {
    text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(read).collect()
}

pub(super) fn store(url: &str) -> Option<StoreUrl> {
    match url.split_once(':')? {
        ("sqlite", path) if !path.is_empty() => {
            Some(StoreUrl::Sqlite(PathBuf::from(path.strip_prefix("//").unwrap_or(path))))
        }
        ("postgres" | "postgresql", _) => Some(StoreUrl::Postgres(Secret(url.to_owned()))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::settings;
    use super::*;

    #[test]
    fn times_take_fractions_and_nothing_odd() {
        assert_eq!(time(Unit::Days, "0.5"), Some(Duration::from_secs(43_200)));
        assert_eq!(time(Unit::Milliseconds, "0.001"), Some(Duration::from_micros(1)));
        assert_eq!(time(Unit::Seconds, "1e-3"), Some(Duration::from_millis(1)));
        for odd in ["-1", "NaN", "inf", "1e300", "", "5s"] {
            assert_eq!(time(Unit::Days, odd), None, "{odd}");
        }
    }

    #[test]
    fn a_digest_has_one_time_of_day_in_a_zone_that_exists() {
        for good in ["23:55", "0:05", "07:30:15"] {
            assert!(clock(good).is_some(), "{good}");
        }
        for bad in ["", "24:00", "23:60", "11 pm", "08:00,20:00", "2355"] {
            assert!(clock(bad).is_none(), "{bad}");
        }
        assert!(zone("Europe/Berlin").is_some() && zone("UTC").is_some());
        for bad in ["", "Berlin", "Mars/Olympus", "../etc/passwd"] {
            assert!(zone(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn urls_name_a_file_or_a_server() {
        assert_eq!(store("sqlite:a/b.db").unwrap(), StoreUrl::Sqlite("a/b.db".into()));
        assert_eq!(store("sqlite:///srv/b.db").unwrap(), StoreUrl::Sqlite("/srv/b.db".into()));
        assert!(matches!(store("postgres://u@h/d").unwrap(), StoreUrl::Postgres(_)));
        for bad in ["", "sqlite:", "mysql://x", "redrive.db"] {
            assert!(store(bad).is_none(), "{bad:?}");
        }
    }

    #[test]
    fn a_list_of_proxies_takes_addresses_and_networks() {
        let nets = networks("10.0.0.0/8, 192.0.2.7,::1").unwrap();
        assert!(nets[0].contains(&"10.1.2.3".parse::<IpAddr>().unwrap()));
        assert!(nets[1].contains(&"192.0.2.7".parse::<IpAddr>().unwrap()));
        assert!(!nets[1].contains(&"192.0.2.8".parse::<IpAddr>().unwrap()));
        assert_eq!(nets.len(), 3);
        assert!(networks("10.0.0.0/99").is_none() && networks("proxy").is_none());
    }

    #[test]
    fn every_default_is_accepted_by_its_own_kind_and_every_name_tells_its_unit() {
        for setting in settings() {
            assert!(setting.default.is_empty() || accepts(setting.kind, setting.default), "{}", setting.name);
            assert!(!setting.default.is_empty() || !setting.unset.is_empty(), "{}", setting.name);
            let unit = match setting.kind {
                Kind::Time { unit, .. } => Some(unit),
                _ => None,
            };
            let named = match setting.name.rsplit('_').next() {
                Some("DAYS") => Some(Unit::Days),
                Some("SEC") => Some(Unit::Seconds),
                Some("MS") => Some(Unit::Milliseconds),
                _ => None,
            };
            assert_eq!(unit, named, "{}", setting.name);
        }
    }

    #[test]
    fn secrets_and_passwords_are_never_shown() {
        let named = |name| settings().find(|setting| setting.name == name).unwrap();
        assert_eq!(shown(named("OPERATOR_TOKEN"), "canary"), MASK);
        for url in ["postgres://u:canary@h/d", "u:canary@h/d", "mysql://u:canary@h"] {
            assert!(!shown(named("DATABASE_URL"), url).contains("canary"), "{url}");
        }
        assert_eq!(shown(named("LISTEN"), "a\nb"), shown(named("LISTEN"), "a b"));
    }
}

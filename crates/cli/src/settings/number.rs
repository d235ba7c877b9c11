//! Numbers from the environment. Times take fractions, so that a day can be tried in a second.

use std::str::FromStr;
use std::time::Duration;

use crate::exit::{Exit, Stop};

/// A setting of any kind that reads itself, or its default.
pub(super) fn or<T: FromStr>(name: &str, default: T) -> Result<T, Stop> {
    match super::env(name) {
        None => Ok(default),
        Some(text) => text.trim().parse().map_err(|_| bad(name, &text)),
    }
}

/// A time in this unit, or its default.
pub(super) fn time(name: &str, unit: Duration, default: f64) -> Result<Duration, Stop> {
    let text = super::env(name);
    let count = match &text {
        None => default,
        Some(text) => text.trim().parse::<f64>().map_err(|_| bad(name, text))?,
    };
    in_units(count, unit).ok_or_else(|| bad(name, text.as_deref().unwrap_or_default()))
}

fn in_units(count: f64, unit: Duration) -> Option<Duration> {
    let seconds = count * unit.as_secs_f64();
    (seconds >= 0.0).then(|| Duration::try_from_secs_f64(seconds).ok())?
}

pub(super) fn bad(name: &str, text: &str) -> Stop {
    Stop::new(Exit::Failed, format!("{name} is {text:?}, which cannot be used"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_take_fractions_and_nothing_odd() {
        let day = Duration::from_secs(86_400);
        assert_eq!(in_units(0.5, day), Some(day / 2));
        assert_eq!(in_units(0.001, Duration::from_millis(1)), Some(Duration::from_micros(1)));
        for odd in [-1.0, f64::NAN, f64::INFINITY, 1e300] {
            assert_eq!(in_units(odd, day), None, "{odd}");
        }
    }
}

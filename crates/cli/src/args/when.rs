//! What lists are cut by: how many rows, and instants as people say them, as such, as a day, or as a time from now. They are read once, so that
//! every question of a command means the same.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Span, SpanRelativeTo, Timestamp};
use redrive_store::clock::{Clock, SystemClock};

/// At most so many rows.
pub(crate) fn rows(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|rows| *rows > 0).ok_or_else(|| "no number from 1".to_owned())
}

/// `2026-01-31T08:00:00Z`, `2026-01-31`, or `7d`: so long before now.
pub(crate) fn past(text: &str) -> Result<Timestamp, String> {
    ago(text, SystemClock.now())
}

/// `2026-01-31T08:00:00Z`, `2026-01-31`, or `30m`: so long after now.
pub(crate) fn coming(text: &str) -> Result<Timestamp, String> {
    ahead(text, SystemClock.now())
}

fn ago(text: &str, now: Timestamp) -> Result<Timestamp, String> {
    said(text, |long| now.checked_sub(long).ok())
}

fn ahead(text: &str, now: Timestamp) -> Result<Timestamp, String> {
    said(text, |long| now.checked_add(long).ok())
}

fn said(text: &str, from_now: impl FnOnce(SignedDuration) -> Option<Timestamp>) -> Result<Timestamp, String> {
    let text = text.trim();
    let time = || {
        let span = text.parse::<Span>().ok()?;
        let long = span.to_duration(SpanRelativeTo::days_are_24_hours()).ok()?;
        (!long.is_negative()).then_some(long)
    };
    let instant = text.parse::<Timestamp>().ok().or_else(|| day(text));
    instant.or_else(|| from_now(time()?)).ok_or_else(|| {
        "no instant such as 2026-01-31T08:00:00Z or 2026-01-31, and no time such as 7d, 12h, 30m or 90s"
            .to_owned()
    })
}

/// The beginning of a day in UTC.
fn day(text: &str) -> Option<Timestamp> {
    let day = Some(text).filter(|text| text.len() == "2026-01-31".len())?.parse::<Date>().ok()?;
    day.to_zoned(TimeZone::UTC).ok().map(|zoned| zoned.timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instant_stands_for_itself_and_a_time_is_counted_from_now() {
        let now: Timestamp = "2026-01-31T08:00:00Z".parse().unwrap();
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        for (said, ago_, ahead_) in [
            ("7d", "2026-01-24T08:00:00Z", "2026-02-07T08:00:00Z"),
            ("12h", "2026-01-30T20:00:00Z", "2026-01-31T20:00:00Z"),
            ("90m", "2026-01-31T06:30:00Z", "2026-01-31T09:30:00Z"),
            ("90s", "2026-01-31T07:58:30Z", "2026-01-31T08:01:30Z"),
            ("1w", "2026-01-24T08:00:00Z", "2026-02-07T08:00:00Z"),
            (" 1d12h ", "2026-01-29T20:00:00Z", "2026-02-01T20:00:00Z"),
            ("2026-01-30", "2026-01-30T00:00:00Z", "2026-01-30T00:00:00Z"),
            ("2020-01-01T00:00:00+02:00", "2019-12-31T22:00:00Z", "2019-12-31T22:00:00Z"),
        ] {
            assert_eq!(ago(said, now).unwrap(), at(ago_), "{said}");
            assert_eq!(ahead(said, now).unwrap(), at(ahead_), "{said}");
        }
        for rubbish in [
            "",
            "monday",
            "7",
            "-7d",
            "7d ago",
            "99999999d",
            "999999999999999999999s",
            "7x",
            "2026-02-30",
            "2026-1-1",
            "2026-01-31T08:00:00",
            "1mo",
        ] {
            assert!(ago(rubbish, now).is_err(), "{rubbish}");
            assert!(ahead(rubbish, now).is_err(), "{rubbish}");
        }
    }
}

//! Instants that people say: as such, or as a time from now.

use jiff::{SignedDuration, Span, SpanRelativeTo, Timestamp};
use redrive_model::text::one_line_chars;

use crate::exit::{Exit, Stop};

/// `2026-01-31T08:00:00Z`, or `7d`: so long before now.
pub(super) fn ago(flag: &str, text: &str, now: Timestamp) -> Result<Timestamp, Stop> {
    said(flag, text, |long| now.checked_sub(long).ok())
}

/// `2026-01-31T08:00:00Z`, or `30m`: so long after now.
pub(super) fn ahead(flag: &str, text: &str, now: Timestamp) -> Result<Timestamp, Stop> {
    said(flag, text, |long| now.checked_add(long).ok())
}

fn said(
    flag: &str,
    text: &str,
    from_now: impl FnOnce(SignedDuration) -> Option<Timestamp>,
) -> Result<Timestamp, Stop> {
    let instant = || text.parse::<Timestamp>().ok();
    let time = || {
        let span = text.parse::<Span>().ok()?;
        let long = span.to_duration(SpanRelativeTo::days_are_24_hours()).ok()?;
        (!long.is_negative()).then_some(long)
    };
    instant().or_else(|| from_now(time()?)).ok_or_else(|| {
        let text = one_line_chars(text, 40);
        Stop::new(
            Exit::Usage,
            format!(
                "{flag}: {text:?} is no instant such as 2026-01-31T08:00:00Z and no time such as 7d or 12h"
            ),
        )
    })
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
            ("1w", "2026-01-24T08:00:00Z", "2026-02-07T08:00:00Z"),
            ("2020-01-01T00:00:00+02:00", "2019-12-31T22:00:00Z", "2019-12-31T22:00:00Z"),
        ] {
            assert_eq!(ago("--since", said, now).unwrap(), at(ago_), "{said}");
            assert_eq!(ahead("--until", said, now).unwrap(), at(ahead_), "{said}");
        }
        for rubbish in ["", "monday", "7", "-7d", "99999999d", "7x"] {
            let stop = ago("--since", rubbish, now).unwrap_err();
            assert_eq!(stop.exit(), Exit::Usage);
            assert!(stop.message().starts_with("--since"), "{}", stop.message());
        }
    }
}

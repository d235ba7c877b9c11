//! What the head of an answer says: how much comes, which part, what it is, when to come again.

use std::time::Duration;

use hyper::HeaderMap;
use hyper::header::{
    ACCEPT_RANGES, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG, HeaderName,
    RETRY_AFTER,
};
use jiff::Timestamp;
use jiff::fmt::rfc2822;
use serde::{Deserialize, Serialize};

/// What is known of the resource that comes, as the first answer told it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Head {
    pub(crate) status: u16,
    /// Its size, where it was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) total: Option<u64>,
    /// A strong validator: only with one can a part be known to belong to the rest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) etag: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) content_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) content_encoding: Option<String>,
}

impl Head {
    pub(crate) fn of(status: u16, headers: &HeaderMap) -> Self {
        let ranges = text(headers, &ACCEPT_RANGES).is_none_or(|units| !units.eq_ignore_ascii_case("none"));
        let encoding =
            text(headers, &CONTENT_ENCODING).filter(|coding| !coding.eq_ignore_ascii_case("identity"));
        Self {
            status,
            total: text(headers, &CONTENT_LENGTH).and_then(|length| length.parse().ok()),
            etag: strong_etag(headers).filter(|_| ranges),
            content_type: text(headers, &CONTENT_TYPE).and_then(short),
            content_encoding: encoding.and_then(short),
        }
    }
}

/// The part that a 206 brings: its first byte, its last one, and the size of the whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) first: u64,
    pub(crate) last: u64,
    pub(crate) total: Option<u64>,
}

impl Part {
    /// `Content-Range: bytes 5-9/10`; the size may be `*`.
    pub(crate) fn of(headers: &HeaderMap) -> Option<Self> {
        let (range, total) = text(headers, &CONTENT_RANGE)?.strip_prefix("bytes ")?.split_once('/')?;
        let (first, last) = range.split_once('-')?;
        let part = Self {
            first: number(first)?,
            last: number(last)?,
            total: if total == "*" { None } else { Some(number(total)?) },
        };
        let is_sound = part.first <= part.last && part.total.is_none_or(|total| part.last < total);
        is_sound.then_some(part)
    }
}

/// `ETag`, when it is a strong one.
pub(crate) fn strong_etag(headers: &HeaderMap) -> Option<String> {
    let etag = text(headers, &ETAG)?;
    let is_strong = etag.len() >= 2 && etag.starts_with('"') && etag.ends_with('"');
    is_strong.then(|| etag.to_owned()).filter(|etag| etag.len() <= 1_000)
}

/// `Retry-After`: seconds, or a date. What cannot be read is not there.
pub(crate) fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let wish = text(headers, &RETRY_AFTER)?;
    if let Some(seconds) = number(wish) {
        return Some(Duration::from_secs(seconds));
    }
    let at = rfc2822::DateTimeParser::new().parse_timestamp(wish).ok()?;
    Duration::try_from(at.duration_since(now)).ok()
}

/// Only digits: no sign, no blanks.
fn number(text: &str) -> Option<u64> {
    if text.bytes().all(|b| b.is_ascii_digit()) { text.parse().ok() } else { None }
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name)?.to_str().ok().map(str::trim)
}

/// What an origin says about its content is kept when it is short.
fn short(text: &str) -> Option<String> {
    (1..=200).contains(&text.len()).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    fn headers(name: HeaderName, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(name, HeaderValue::from_str(value).unwrap())])
    }

    /// Also covers: M34.
    #[test]
    fn a_wait_is_seconds_or_a_date_and_nothing_else() {
        let now: Timestamp = "2026-03-01T12:00:00Z".parse().unwrap();
        for (text, wait) in [
            ("2", Some(2)),
            (" 120 ", Some(120)),
            ("0", Some(0)),
            ("315360000", Some(315_360_000)),
            ("Sun, 01 Mar 2026 12:00:30 GMT", Some(30)),
            ("Sun, 01 Mar 2026 11:59:00 GMT", None),
            ("-1", None),
            ("+1", None),
            ("1.5", None),
            ("soon", None),
            ("", None),
            ("99999999999999999999999999", None),
        ] {
            let found = retry_after(&headers(RETRY_AFTER, text), now);
            assert_eq!(found, wait.map(Duration::from_secs), "{text:?}");
        }
    }

    #[test]
    fn only_a_sound_range_is_one() {
        let part =
            |text| Part::of(&headers(CONTENT_RANGE, text)).map(|part| (part.first, part.last, part.total));
        assert_eq!(part("bytes 5-9/10"), Some((5, 9, Some(10))));
        assert_eq!(part("bytes 5-9/*"), Some((5, 9, None)));
        for text in [
            "bytes */10",
            "bytes 9-5/10",
            "bytes 5-10/10",
            "items 5-9/10",
            "bytes -9/10",
            "bytes 5-/10",
            "5-9/10",
            "",
        ] {
            assert_eq!(part(text), None, "{text:?}");
        }
    }

    #[test]
    fn only_a_strong_validator_lets_a_download_go_on() {
        let etag = |text| Head::of(200, &headers(ETAG, text)).etag;
        assert_eq!(etag("\"a\""), Some("\"a\"".to_owned()));
        for text in ["W/\"a\"", "a", "\"", ""] {
            assert_eq!(etag(text), None, "{text:?}");
        }
        let mut none = headers(ETAG, "\"a\"");
        none.insert(ACCEPT_RANGES, HeaderValue::from_static("none"));
        assert_eq!(Head::of(200, &none).etag, None);
    }
}

//! Which part is wanted, and whether the client has it already.

use axum::http::{HeaderMap, HeaderValue, header};
use redrive_blob::ByteRange;

/// The one range that is wanted. Several, a form that we do not know, or one for another version: the whole is sent.
pub(super) fn wanted(headers: &HeaderMap, tag: &str) -> Option<ByteRange> {
    let range = headers.get(header::RANGE)?.to_str().ok()?;
    // A weak tag or a date never matches a part.
    if headers.get(header::IF_RANGE).is_some_and(|value| value.as_bytes() != tag.as_bytes()) {
        return None;
    }
    let (first, last) = range.strip_prefix("bytes=")?.split_once('-')?;
    match (first.trim(), last.trim()) {
        ("", count) => count.parse().ok().map(ByteRange::Last),
        (first, "") => first.parse().ok().map(ByteRange::From),
        (first, last) => {
            let (first, last) = (first.parse().ok()?, last.parse().ok()?);
            (first <= last).then_some(ByteRange::Within { first, last })
        }
    }
}

/// Whether `If-None-Match` names this version.
pub(super) fn matches(header: Option<&HeaderValue>, tag: &str) -> bool {
    let Some(text) = header.and_then(|value| value.to_str().ok()) else { return false };
    text.split(',').map(str::trim).any(|one| one == "*" || one.strip_prefix("W/").unwrap_or(one) == tag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_range_is_understood_and_everything_else_is_the_whole() {
        let tag = "\"abc\"";
        for (range, condition, expected) in [
            ("bytes=0-9", None, Some(ByteRange::Within { first: 0, last: 9 })),
            ("bytes=5-", None, Some(ByteRange::From(5))),
            ("bytes=-5", None, Some(ByteRange::Last(5))),
            ("bytes=5-", Some("\"abc\""), Some(ByteRange::From(5))),
            ("bytes=5-", Some("\"other\""), None),
            ("bytes=5-", Some("W/\"abc\""), None),
            ("bytes=5-", Some("Wed, 21 Oct 2015 07:28:00 GMT"), None),
            ("bytes=0-1,4-5", None, None),
            ("bytes=9-0", None, None),
            ("bytes=-", None, None),
            ("bytes=a-b", None, None),
            ("bytes=99999999999999999999-", None, None),
            ("items=0-9", None, None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::RANGE, range.parse().unwrap());
            if let Some(condition) = condition {
                headers.insert(header::IF_RANGE, condition.parse().unwrap());
            }
            assert_eq!(wanted(&headers, tag), expected, "{range} {condition:?}");
        }
        for (text, expected) in [
            ("\"abc\"", true),
            ("W/\"abc\"", true),
            ("\"x\", \"abc\"", true),
            ("*", true),
            ("\"x\"", false),
            ("abc", false),
        ] {
            assert_eq!(matches(Some(&text.parse().unwrap()), tag), expected, "{text}");
        }
        assert!(!matches(None, tag));
    }
}

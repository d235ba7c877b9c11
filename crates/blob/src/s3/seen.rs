//! What a bucket says about an object that others made.

use std::collections::BTreeMap;

use redrive_model::Timestamp;
use reqwest::header::{
    CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_ENCODING, CONTENT_LANGUAGE, CONTENT_LENGTH, CONTENT_TYPE,
    ETAG, EXPIRES, HeaderMap, HeaderName, HeaderValue, LAST_MODIFIED,
};

use crate::error::{Act, BlobError};

/// User metadata has this before its name.
pub(super) const META: &str = "x-amz-meta-";
/// What else belongs to an object and is lost by a copy that replaces its metadata, unless it is said again.
const KEPT: [HeaderName; 6] =
    [CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_ENCODING, CONTENT_LANGUAGE, CONTENT_TYPE, EXPIRES];
const STORAGE_CLASS: HeaderName = HeaderName::from_static("x-amz-storage-class");

/// An object, by the headers of an answer.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    /// Its size.
    pub(crate) bytes: u64,
    /// Its ETag without quotes, where the store has such a thing.
    pub(crate) etag: Option<String>,
    /// When it was written, in whole seconds.
    pub(crate) modified: Timestamp,
    /// Its user metadata.
    pub(crate) meta: BTreeMap<String, String>,
    /// Its other headers.
    kept: HeaderMap,
}

impl Seen {
    pub(super) fn read(headers: &HeaderMap, act: Act) -> Result<Self, BlobError> {
        let text = |name: &HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
        let unreadable = |what: &str| BlobError::Unavailable {
            act,
            timeout: false,
            retry_after: None,
            reason: format!("an answer without {what}"),
        };
        let bytes = text(&CONTENT_LENGTH).and_then(|text| text.parse().ok());
        let modified = text(&LAST_MODIFIED).and_then(|text| jiff::fmt::rfc2822::parse(text).ok());
        let meta = headers.iter().filter_map(|(name, value)| {
            let name = name.as_str().strip_prefix(META)?.to_owned();
            Some((name, String::from_utf8_lossy(value.as_bytes()).into_owned()))
        });
        let mut kept = HeaderMap::new();
        for name in KEPT.into_iter().chain([STORAGE_CLASS]) {
            if let Some(value) =
                headers.get(&name).filter(|value| std::str::from_utf8(value.as_bytes()).is_ok())
            {
                kept.insert(name, value.clone());
            }
        }
        Ok(Self {
            bytes: bytes.ok_or_else(|| unreadable("a size"))?,
            etag: text(&ETAG).map(unquoted),
            modified: modified.ok_or_else(|| unreadable("a time"))?.timestamp(),
            meta: meta.collect(),
            kept,
        })
    }

    /// The headers that give a copy of it this metadata. What is no header is left out: it cannot have come from one.
    pub(super) fn headers(&self, meta: &BTreeMap<String, String>) -> HeaderMap {
        let mut headers = self.kept.clone();
        for (name, value) in meta {
            let name = HeaderName::try_from(format!("{META}{name}"));
            if let (Ok(name), Ok(value)) = (name, HeaderValue::from_bytes(value.trim().as_bytes())) {
                headers.insert(name, value);
            }
        }
        headers
    }
}

/// An ETag as it is compared: stores put quotes around it, or not.
pub(super) fn unquoted(etag: &str) -> String {
    etag.trim().trim_start_matches("W/").trim_matches('"').to_owned()
}

/// An ETag as it is sent.
pub(super) fn quoted(etag: &str) -> Result<HeaderValue, BlobError> {
    HeaderValue::try_from(format!("\"{etag}\"")).map_err(|_| BlobError::io("an ETag that cannot be sent"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_object_has_comes_back_as_headers() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("content-length", "7"),
            ("content-type", "application/pdf"),
            ("etag", "\"abc-2\""),
            ("last-modified", "Mon, 16 Nov 2026 08:00:00 GMT"),
            ("x-amz-meta-uploaded-by", "anna"),
            ("x-amz-storage-class", "STANDARD_IA"),
            ("x-amz-request-id", "1"),
        ] {
            headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        let seen = Seen::read(&headers, Act::Read).unwrap();
        assert_eq!((seen.bytes, seen.etag.as_deref()), (7, Some("abc-2")));
        assert_eq!(seen.modified.to_string(), "2026-11-16T08:00:00Z");
        let mut meta = seen.meta.clone();
        assert_eq!(meta.insert("retry-count".into(), "1".into()), None);
        meta.insert("no header".into(), "x".into());
        meta.insert("broken".into(), "a\r\nb: c".into());
        let again = seen.headers(&meta);
        let mut names: Vec<_> = again.keys().map(HeaderName::as_str).collect();
        names.sort_unstable();
        assert_eq!(
            names,
            ["content-type", "x-amz-meta-retry-count", "x-amz-meta-uploaded-by", "x-amz-storage-class"]
        );
        headers.remove("last-modified");
        assert!(Seen::read(&headers, Act::Read).is_err());
    }

    #[test]
    fn etags_are_compared_without_their_quotes() {
        for etag in ["\"a-1\"", "a-1", "W/\"a-1\""] {
            assert_eq!(unquoted(etag), "a-1");
        }
        assert_eq!(quoted("a-1").unwrap(), "\"a-1\"");
    }
}

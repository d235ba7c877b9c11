//! What a download needs: one resource of a manifest.

use std::collections::BTreeMap;
use std::fmt;

use redrive_blob::{Key, KeyError, Sha256};
use redrive_engine::model::redact::MASK;
use redrive_engine::{Input, Target};
use serde::{Deserialize, Serialize};
use url::Url;

use crate::guard::{self, Guard};
use crate::id::{address, label, shown_id};
use crate::key::object_key;
use crate::proxy;

/// Longest id of a resource, in bytes.
pub const MAX_ID_BYTES: usize = 512;
/// Most headers of a resource, and tags.
pub const MAX_PAIRS: usize = 64;
/// Longest header or tag, name and value together, in bytes.
pub const MAX_PAIR_BYTES: usize = 8_192;

/// Headers that say how a message travels. They are ours to say.
const OURS: &[&str] = &[
    "accept-encoding",
    "connection",
    "content-length",
    "content-type",
    "expect",
    "host",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-range",
    "if-unmodified-since",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "range",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// One resource, as the job carries it. What it prints has no secrets; its JSON has them, because the job needs them.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resource {
    /// The key of the manifest that it came with.
    #[serde(rename = "manifest_key")]
    pub manifest: String,
    /// What the manifest calls it.
    pub id: String,
    /// Where it is.
    pub url: String,
    /// What is said with the request.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// What it must be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<Sha256>,
    /// What people say about it; handed through.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<String, String>,
    /// Which of the listed places it goes to; `FETCH_TO` where none is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// The bucket that this is, where it is one: the job waits while it is held.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bucket: Option<String>,
    /// The prefix below the place: the batch's own, or the one that was asked for.
    pub prefix: String,
    /// Whether other batches may put things there too. In a prefix of its own a batch finds only what it put there itself.
    #[serde(default)]
    pub shared: bool,
    /// The pool whose proxies are used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proxy_pool: Option<String>,
}

/// What is wrong with a resource, by field.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {reason}")]
pub struct Flaw {
    /// The field, as the manifest calls it.
    pub field: &'static str,
    /// Why.
    pub reason: String,
}

impl Resource {
    /// What a door checks before it takes a resource in. A name that leads to a forbidden address is found out only when it is
    /// fetched.
    pub fn check(&self, guard: &Guard) -> Result<(), Flaw> {
        let flaw = |field, reason: &dyn fmt::Display| Flaw { field, reason: reason.to_string() };
        if self.id.is_empty() || self.id.len() > MAX_ID_BYTES {
            return Err(flaw("id", &format_args!("between 1 and {MAX_ID_BYTES} bytes are allowed")));
        }
        if self.id.chars().any(char::is_control) {
            return Err(flaw("id", &"control characters are not allowed"));
        }
        guard.parse(&self.url).map_err(|refused| flaw("url", &refused))?;
        pairs("headers", &self.headers)?;
        pairs("tags", &self.tags)?;
        for (name, value) in &self.headers {
            sendable(name, value).map_err(|reason| flaw("headers", &reason))?;
        }
        self.key().map_err(|error| flaw("to", &error))?;
        Ok(())
    }

    /// Where it goes.
    pub fn key(&self) -> Result<Key, KeyError> {
        object_key(&self.prefix, &self.id, &self.url)
    }

    /// The host, as breakers and politeness know it: `host:NAME:PORT`.
    #[must_use]
    pub fn host(&self) -> Option<Target> {
        guard::target(&Url::parse(&self.url).ok()?)
    }
}

impl Input for Resource {
    const WORKLOAD: &'static str = "fetch";

    fn targets(&self) -> Vec<Target> {
        let bucket = self.bucket.as_ref().and_then(|name| Target::new(format!("bucket:{name}")).ok());
        let pool = self.proxy_pool.as_deref().and_then(proxy::target);
        self.host().into_iter().chain(bucket).chain(pool).collect()
    }

    fn label(&self) -> Option<String> {
        Some(label(&self.id))
    }
}

impl fmt::Debug for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: BTreeMap<&String, &str> = self.headers.keys().map(|name| (name, MASK)).collect();
        f.debug_struct("Resource")
            .field("manifest", &self.manifest)
            .field("id", &shown_id(&self.id))
            .field("url", &address(&self.url))
            .field("headers", &headers)
            .field("prefix", &self.prefix)
            .finish_non_exhaustive()
    }
}

fn pairs(field: &'static str, pairs: &BTreeMap<String, String>) -> Result<(), Flaw> {
    if pairs.len() > MAX_PAIRS {
        return Err(Flaw { field, reason: format!("at most {MAX_PAIRS} are allowed") });
    }
    if pairs.iter().any(|(name, value)| name.is_empty() || name.len() + value.len() > MAX_PAIR_BYTES) {
        let reason = format!("name and value have between 1 and {MAX_PAIR_BYTES} bytes together");
        return Err(Flaw { field, reason });
    }
    Ok(())
}

/// Whether a header can go with a request. The reason names the header and never its value.
fn sendable(name: &str, value: &str) -> Result<(), String> {
    use hyper::header::{HeaderName, HeaderValue};
    let known =
        HeaderName::from_bytes(name.as_bytes()).map_err(|_| format!("{name:?} is no name of a header"))?;
    if OURS.contains(&known.as_str()) {
        return Err(format!("{known} is set by us"));
    }
    HeaderValue::from_str(value).map(drop).map_err(|_| format!("{known} has a value that cannot be sent"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resource() -> Resource {
        Resource {
            manifest: "m".into(),
            id: "1".into(),
            url: "https://example.com/a?token=CANARY".into(),
            headers: BTreeMap::from([("authorization".into(), "Bearer CANARY".into())]),
            sha256: None,
            tags: BTreeMap::new(),
            place: None,
            bucket: Some("scans".into()),
            prefix: "batch".into(),
            shared: false,
            proxy_pool: None,
        }
    }

    #[test]
    fn a_flaw_names_its_field() {
        assert_eq!(resource().check(&Guard::default()), Ok(()));
        let header = |name: &str, value: &str| {
            let headers = BTreeMap::from([(name.to_owned(), value.to_owned())]);
            Resource { headers, ..resource() }
        };
        for (flawed, field) in [
            (Resource { id: String::new(), ..resource() }, "id"),
            (Resource { id: "x".repeat(513), ..resource() }, "id"),
            (Resource { id: "a\nb".into(), ..resource() }, "id"),
            (Resource { url: "ftp://example.com/".into(), ..resource() }, "url"),
            (Resource { url: "http://127.0.0.1/".into(), ..resource() }, "url"),
            (Resource { prefix: "../x".into(), ..resource() }, "to"),
            (header("host", "other.example"), "headers"),
            (header("Transfer-Encoding", "chunked"), "headers"),
            (header("range", "bytes=0-"), "headers"),
            (header("a b", "c"), "headers"),
            (header("x", "a\r\nhost: b"), "headers"),
            (header("x", &"y".repeat(9_000)), "headers"),
        ] {
            assert_eq!(flawed.check(&Guard::default()).unwrap_err().field, field, "{flawed:?}");
        }
    }

    #[test]
    fn it_depends_on_its_host_and_its_bucket_and_prints_no_secret() {
        let targets: Vec<String> = resource().targets().iter().map(ToString::to_string).collect();
        assert_eq!(targets, ["host:example.com:443", "bucket:scans"]);
        // Whoever calls it by its URL confides the same twice.
        let confided = Resource { id: resource().url, ..resource() };
        let text = format!("{:?} {:?} {:?}", resource(), confided, confided.label());
        assert!(!text.contains("CANARY"), "{text}");
        let json = serde_json::to_string(&resource()).unwrap();
        assert_eq!(serde_json::from_str::<Resource>(&json).unwrap(), resource());
    }
}

//! What is needed to reach a bucket.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use object_store::aws::AmazonS3ConfigKey;

use crate::Result;
use crate::error::BlobError;
use crate::key::Key;

/// Settings of a bucket. Debug shows no secret.
#[derive(Clone)]
pub struct S3Settings {
    /// The bucket.
    pub bucket: String,
    /// Everything lies below this prefix; `None` is the whole bucket.
    pub prefix: Option<Key>,
    /// Where the store answers (`S3_ENDPOINT`); `None` is AWS in the region of `AWS_REGION`.
    pub endpoint: Option<String>,
    /// A local folder in which uploads gather before they are sent. It needs room for the uploads of the moment.
    pub spool: PathBuf,
    /// How long to wait for a connection.
    pub connect_timeout: Duration,
    /// How long to wait for the next byte of an answer, and for an answer after a part was sent.
    pub read_timeout: Duration,
    /// A body up to this size goes out in one request, a larger one in parts of it. S3 wants 5 MiB at least.
    pub part_bytes: u64,
    /// All uploads together hold so much in memory at most.
    pub memory_bytes: u64,
    pub(super) vars: Vec<(AmazonS3ConfigKey, String)>,
}

impl S3Settings {
    /// Settings for a bucket with everything else as usual.
    #[must_use]
    pub fn new(bucket: impl Into<String>, prefix: Option<Key>, spool: impl Into<PathBuf>) -> Self {
        Self {
            bucket: bucket.into(),
            prefix,
            endpoint: None,
            spool: spool.into(),
            connect_timeout: Duration::from_secs(5),
            read_timeout: Duration::from_secs(60),
            part_bytes: 8 << 20,
            memory_bytes: 32 << 20,
            vars: Vec::new(),
        }
    }

    /// Takes `S3_ENDPOINT` and the `AWS_*` variables out of an environment that the caller has read; passes over the
    /// rest. Empty values count as unset, as with the AWS tools.
    #[must_use]
    pub fn with_vars<K, V>(mut self, vars: impl IntoIterator<Item = (K, V)>) -> Self
    where
        K: AsRef<str>,
        V: Into<String>,
    {
        for (name, value) in vars {
            let (name, value) = (name.as_ref(), value.into());
            if value.is_empty() {
                continue;
            }
            if name == "S3_ENDPOINT" {
                self.endpoint = Some(value);
            } else if name.starts_with("AWS_")
                && let Ok(key) = AmazonS3ConfigKey::from_str(&name.to_ascii_lowercase())
                // Which bucket it is says the URL, never the environment.
                && key != AmazonS3ConfigKey::Bucket
            {
                self.vars.push((key, value));
            }
        }
        self
    }

    pub(super) fn check(&self) -> Result<()> {
        if self.bucket.is_empty() || self.bucket.contains(['/', '?', '#']) {
            return Err(BlobError::settings("the bucket's name is not usable"));
        }
        if self.part_bytes < 5 << 20 || self.memory_bytes < self.part_bytes {
            return Err(BlobError::settings("a part needs 5 MiB at least, and memory for one part"));
        }
        if let Some(endpoint) = &self.endpoint
            && !endpoint.starts_with("http://")
            && !endpoint.starts_with("https://")
        {
            return Err(BlobError::settings("S3_ENDPOINT must begin with http:// or https://"));
        }
        Ok(())
    }

    /// The name in the bucket of a key or of an object of our own.
    pub(super) fn object(&self, name: &str) -> String {
        self.prefix.as_ref().map_or_else(|| name.to_owned(), |prefix| format!("{prefix}/{name}"))
    }

    /// What a name in the bucket is below the prefix.
    pub(super) fn below<'a>(&self, object: &'a str) -> Option<&'a str> {
        match &self.prefix {
            Some(prefix) => object.strip_prefix(prefix.as_str())?.strip_prefix('/'),
            None => Some(object),
        }
    }
}

impl fmt::Debug for S3Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("S3Settings")
            .field("bucket", &self.bucket)
            .field("prefix", &self.prefix)
            .field("endpoint", &self.endpoint)
            .field("spool", &self.spool)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_fills_in_what_the_url_does_not_say() {
        let vars = [
            ("S3_ENDPOINT", "http://127.0.0.1:9000"),
            ("AWS_ACCESS_KEY_ID", "who"),
            ("AWS_SECRET_ACCESS_KEY", "canary-secret"),
            ("AWS_REGION", "eu-central-1"),
            ("AWS_SESSION_TOKEN", ""),
            ("AWS_BUCKET", "other"),
            ("AWS_NONSENSE", "x"),
            ("HOME", "/root"),
        ];
        let settings = S3Settings::new("scans", None, "/spool").with_vars(vars);
        assert_eq!(settings.endpoint.as_deref(), Some("http://127.0.0.1:9000"));
        let keys: Vec<_> = settings.vars.iter().map(|(key, _)| *key).collect();
        use AmazonS3ConfigKey::{AccessKeyId, Region, SecretAccessKey};
        assert_eq!(keys, [AccessKeyId, SecretAccessKey, Region]);
        assert!(!format!("{settings:?}").contains("canary"), "{settings:?}");
    }

    #[test]
    fn settings_that_cannot_work_are_refused() {
        let good = S3Settings::new("scans", None, "/spool");
        assert!(good.check().is_ok());
        for bad in [
            S3Settings::new("", None, "/spool"),
            S3Settings::new("a/b", None, "/spool"),
            S3Settings { part_bytes: 1 << 20, ..good.clone() },
            S3Settings { memory_bytes: 5 << 20, ..good.clone() },
            S3Settings { endpoint: Some("127.0.0.1:9000".into()), ..good },
        ] {
            assert!(matches!(bad.check(), Err(BlobError::Settings { .. })), "{bad:?}");
        }
    }

    #[test]
    fn names_in_the_bucket_have_the_prefix_and_lose_it_again() {
        let settings = S3Settings::new("b", Some(Key::parse("a/b").unwrap()), "/spool");
        assert_eq!(settings.object("k"), "a/b/k");
        assert_eq!(settings.below("a/b/k/l"), Some("k/l"));
        assert_eq!(settings.below("a/bc/k"), None);
        assert_eq!(settings.below("a/b"), None);
    }
}

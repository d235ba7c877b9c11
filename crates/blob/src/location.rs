//! Where artifacts lie, as settings say it: `UPLOADS_DIR`, `RESULTS_DIR`, `FETCH_TO`.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use crate::Result;
use crate::blobs::Blobs;
use crate::error::BlobError;
use crate::folder::Folder;
use crate::key::Key;
use crate::s3::{S3, S3Settings};
use crate::shelf::{BucketShelf, FolderShelf, Shelf};

/// A place by its name: a path, `file:///path`, or `s3://bucket/prefix`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// A folder.
    Folder(PathBuf),
    /// A bucket, and a prefix in it.
    S3 {
        /// The bucket.
        bucket: String,
        /// Everything lies below it.
        prefix: Option<Key>,
    },
}

impl FromStr for Location {
    type Err = BlobError;

    fn from_str(text: &str) -> Result<Self> {
        if let Some(rest) = text.strip_prefix("s3://") {
            let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
            if bucket.is_empty() || bucket.contains(['@', '?', '#', ':']) {
                return Err(BlobError::settings(format!("{text} names no bucket: s3://bucket/prefix")));
            }
            let prefix = prefix.trim_end_matches('/');
            let prefix = if prefix.is_empty() { None } else { Some(Key::parse(prefix)?) };
            return Ok(Self::S3 { bucket: bucket.to_owned(), prefix });
        }
        let path = match text.strip_prefix("file://") {
            Some(path) if path.starts_with('/') => path,
            Some(_) => return Err(BlobError::settings(format!("{text} has no path: file:///path"))),
            None if text.contains("://") => {
                return Err(BlobError::settings(format!(
                    "{text} is neither a folder nor s3://bucket/prefix"
                )));
            }
            None => text,
        };
        if path.is_empty() {
            return Err(BlobError::settings("an empty path"));
        }
        Ok(Self::Folder(path.into()))
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(path) => write!(f, "{}", path.display()),
            Self::S3 { bucket, prefix: None } => write!(f, "s3://{bucket}"),
            Self::S3 { bucket, prefix: Some(prefix) } => write!(f, "s3://{bucket}/{prefix}"),
        }
    }
}

impl Location {
    /// Opens the place. `spool` is a local folder for uploads on their way to a bucket, `vars` the environment.
    pub async fn open<K, V>(
        &self,
        spool: impl Into<PathBuf>,
        vars: impl IntoIterator<Item = (K, V)>,
    ) -> Result<Arc<dyn Blobs>>
    where
        K: AsRef<str>,
        V: Into<String>,
    {
        Ok(match self {
            Self::Folder(path) => Arc::new(Folder::open(path).await?),
            Self::S3 { bucket, prefix } => {
                let settings = S3Settings::new(bucket, prefix.clone(), spool).with_vars(vars);
                Arc::new(S3::open(settings).await?)
            }
        })
    }

    /// Opens the place as one that belongs to people, otherwise like [`Location::open`].
    pub async fn open_shelf<K, V>(
        &self,
        spool: impl Into<PathBuf>,
        vars: impl IntoIterator<Item = (K, V)>,
    ) -> Result<Arc<dyn Shelf>>
    where
        K: AsRef<str>,
        V: Into<String>,
    {
        Ok(match self {
            Self::Folder(path) => Arc::new(FolderShelf::open(path).await?),
            Self::S3 { bucket, prefix } => {
                let settings = S3Settings::new(bucket, prefix.clone(), spool).with_vars(vars);
                Arc::new(BucketShelf::open(settings).await?)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read_from_settings() {
        let s3 = |bucket: &str, prefix: Option<&str>| Location::S3 {
            bucket: bucket.into(),
            prefix: prefix.map(|prefix| Key::parse(prefix).unwrap()),
        };
        for (text, place) in [
            ("redrive-data/uploads", Location::Folder("redrive-data/uploads".into())),
            ("/srv/x", Location::Folder("/srv/x".into())),
            ("file:///srv/x", Location::Folder("/srv/x".into())),
            ("s3://scans", s3("scans", None)),
            ("s3://scans/", s3("scans", None)),
            ("s3://scans/a/b/", s3("scans", Some("a/b"))),
        ] {
            assert_eq!(text.parse::<Location>().unwrap(), place, "{text}");
            assert_eq!(place.to_string().parse::<Location>().unwrap(), place);
        }
        for text in
            ["", "s3://", "s3:///a", "s3://a/../b", "s3://key:secret@b", "file://x", "gs://b", "http://x"]
        {
            assert!(text.parse::<Location>().is_err(), "{text}");
        }
    }
}

//! Listing objects and unfinished uploads, page by page.
//!
//! The pages are read here and not by `object_store`: its list ends with an error at the first name that it does not
//! like (`a//b`), and one such object must not stop every sweep.

use std::sync::Arc;

use futures::StreamExt;
use futures::stream::{self, BoxStream};
use jiff::Timestamp;
use serde::Deserialize;

use super::bucket::Bucket;
use crate::Result;
use crate::blobs::Listed;
use crate::error::{Act, BlobError};
use crate::key::Key;

/// So many objects are asked for at once. Most stores give a thousand, whatever is asked for; one that goes through everything for each page
/// is asked less often.
const PAGE: &str = "20000";

/// One page of objects.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Objects {
    #[serde(default)]
    contents: Vec<Contents>,
    next_continuation_token: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Contents {
    key: String,
    size: u64,
    last_modified: Timestamp,
    #[serde(rename = "ETag")]
    etag: Option<String>,
}

/// One page of unfinished multipart uploads.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Uploads {
    #[serde(default, rename = "Upload")]
    uploads: Vec<Unfinished>,
    #[serde(default)]
    is_truncated: bool,
    next_key_marker: Option<String>,
    next_upload_id_marker: Option<String>,
}

/// An unfinished multipart upload.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Unfinished {
    /// The object it would have become.
    pub(super) key: String,
    /// Its id.
    pub(super) upload_id: String,
    /// When it was begun.
    pub(super) initiated: Timestamp,
}

/// An object by its name below the prefix, which may be no key.
pub(super) struct Found {
    pub(super) name: String,
    pub(super) bytes: u64,
    pub(super) modified: Timestamp,
    pub(super) etag: Option<String>,
}

/// Everything under a prefix of whole segments.
pub(super) fn list(bucket: Arc<Bucket>, under: Option<&Key>) -> BoxStream<'static, Result<Listed>> {
    let under = under.map(|key| format!("{key}/")).unwrap_or_default();
    found(bucket, under)
        .filter_map(|found| async {
            match found {
                Ok(found) => match Key::parse(&found.name) {
                    Ok(key) => Some(Ok(Listed { key, bytes: found.bytes, modified: found.modified })),
                    Err(_) if found.name.starts_with(crate::key::RESERVED) => None,
                    Err(_) => {
                        let name = found.name.escape_debug();
                        tracing::warn!(event = "blob.name_unusable", %name, "an object whose name cannot be used is passed over");
                        None
                    }
                },
                Err(error) => Some(Err(error)),
            }
        })
        .boxed()
}

/// Every object whose name below the prefix begins so.
pub(super) fn found(bucket: Arc<Bucket>, under: String) -> BoxStream<'static, Result<Found>> {
    let prefix = bucket.settings.object(&under);
    // `Some(None)` is the first page, `Some(token)` a later one, `None` the end.
    let pages = stream::try_unfold(Some(None::<String>), move |next| {
        let (bucket, prefix, under) = (Arc::clone(&bucket), prefix.clone(), under.clone());
        async move {
            let Some(token) = next else { return Ok(None) };
            let mut query = vec![("list-type", "2"), ("max-keys", PAGE), ("prefix", prefix.as_str())];
            if let Some(token) = &token {
                query.push(("continuation-token", token));
            }
            let (page, encoded) = page(&bucket, &mut query).await?;
            let found = page.contents.into_iter().filter_map(|object| {
                let name = if encoded { decode(&object.key) } else { object.key };
                // A store that does not filter must not make us remove what we did not ask for.
                let name = bucket.settings.below(&name).filter(|name| name.starts_with(&under))?.to_owned();
                Some(Found { name, bytes: object.size, modified: object.last_modified, etag: object.etag })
            });
            let found: Vec<Found> = found.collect();
            Ok::<_, BlobError>(Some((found, page.next_continuation_token.map(Some))))
        }
    });
    pages
        .flat_map(|page| match page {
            Ok(page) => stream::iter(page.into_iter().map(Ok).collect::<Vec<_>>()),
            Err(error) => stream::iter(vec![Err(error)]),
        })
        .boxed()
}

/// One page. A name with a character that XML cannot hold makes a page that cannot be read: then it is asked for in the
/// encoded form. Not always: there are stores that say they encode and do not.
async fn page<'a>(bucket: &Bucket, query: &mut Vec<(&'a str, &'a str)>) -> Result<(Objects, bool)> {
    let plain = bucket.ask(query).await?;
    if let Ok(page) = document(&plain) {
        return Ok((page, false));
    }
    query.push(("encoding-type", "url"));
    Ok((document(&bucket.ask(query).await?)?, true))
}

/// Where a page of unfinished uploads begins: behind this key, and behind this upload of it.
pub(super) type Behind = (String, String);

/// One page of unfinished uploads below the prefix, and where the next one begins.
pub(super) async fn unfinished(
    bucket: &Bucket,
    behind: Option<&Behind>,
) -> Result<(Vec<Unfinished>, Option<Behind>)> {
    let prefix = bucket.settings.object("");
    let mut query = vec![("uploads", ""), ("prefix", prefix.as_str())];
    if let Some((key, upload)) = behind {
        query.extend([("key-marker", key.as_str()), ("upload-id-marker", upload.as_str())]);
    }
    let page: Uploads = document(&bucket.ask(&query).await?)?;
    let next = page.next_key_marker.filter(|key| page.is_truncated && !key.is_empty());
    let next = next.map(|key| (key, page.next_upload_id_marker.unwrap_or_default()));
    let ours = page.uploads.into_iter().filter(|upload| bucket.settings.below(&upload.key).is_some());
    // A store that gives the same page again would be asked for ever.
    Ok((ours.collect(), next.filter(|next| Some(next) != behind)))
}

fn document<T: serde::de::DeserializeOwned>(body: &[u8]) -> Result<T> {
    quick_xml::de::from_reader(body).map_err(|e| BlobError::Unavailable {
        act: Act::List,
        timeout: false,
        retry_after: None,
        reason: format!("a list that cannot be read: {e}"),
    })
}

/// Undoes `encoding-type=url`. What is no UTF-8 afterwards is no key either way.
fn decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, more)) = rest.split_first() {
        let hex = more.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        match (first, hex.and_then(|hex| u8::from_str_radix(hex, 16).ok())) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = more.get(2..).unwrap_or_default();
            }
            (b'+', _) => {
                bytes.push(b' ');
                rest = more;
            }
            (other, _) => {
                bytes.push(*other);
                rest = more;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_decoded_as_stores_encode_them() {
        for (encoded, name) in [
            ("plain/a.pdf", "plain/a.pdf"),
            ("M%C3%A4rz+%28final%29.pdf", "März (final).pdf"),
            ("a%2Fb%2B", "a/b+"),
            ("100%", "100%"),
            ("%zz%2", "%zz%2"),
        ] {
            assert_eq!(decode(encoded), name);
        }
    }

    #[test]
    fn a_page_of_unfinished_uploads_says_where_the_next_one_begins() {
        let page = b"<ListMultipartUploadsResult><IsTruncated>true</IsTruncated><NextKeyMarker>k</NextKeyMarker>
            <NextUploadIdMarker>u</NextUploadIdMarker>
            <Upload><Key>k</Key><UploadId>u</UploadId><Initiated>2026-01-02T03:04:05Z</Initiated></Upload></ListMultipartUploadsResult>";
        let page: Uploads = document(page).unwrap();
        assert_eq!((page.uploads.len(), page.is_truncated), (1, true));
        assert_eq!(
            (page.next_key_marker.as_deref(), page.next_upload_id_marker.as_deref()),
            (Some("k"), Some("u"))
        );
        let last: Uploads = document(b"<R><IsTruncated>false</IsTruncated><NextKeyMarker/></R>").unwrap();
        assert!(!last.is_truncated && last.uploads.is_empty());
    }

    #[test]
    fn a_page_with_and_without_objects_is_read() {
        let empty: Objects = document(b"<ListBucketResult><Name>b</Name></ListBucketResult>").unwrap();
        assert!(empty.contents.is_empty() && empty.next_continuation_token.is_none());
        let page = b"<ListBucketResult><NextContinuationToken>t</NextContinuationToken>
            <Contents><Key>a</Key><Size>3</Size><LastModified>2026-01-02T03:04:05.000Z</LastModified><ETag>x</ETag></Contents>
            <Contents><Key>b</Key><Size>0</Size><LastModified>2026-01-02T03:04:05Z</LastModified></Contents></ListBucketResult>";
        let page: Objects = document(page).unwrap();
        assert_eq!(page.contents.iter().map(|object| object.key.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(page.next_continuation_token.as_deref(), Some("t"));
        assert!(document::<Objects>(b"<html>").is_err());
    }
}

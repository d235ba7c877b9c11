//! Which conditions a bucket keeps when objects are copied and removed, and whether its lists tell ETags. Asked at start.

use std::sync::Arc;

use futures::TryStreamExt;
use object_store::PutMode;
use object_store::path::Path;
use rand::Rng;
use reqwest::Method;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue, IF_MATCH, IF_NONE_MATCH};

use super::bucket::Bucket;
use super::list;
use super::objects::{COPY_SOURCE_IF_MATCH, source};
use super::probe::{Conditional, PROBE, judge, put};
use super::refusal::Failed;
use super::signed::Call;
use crate::Result;
use crate::error::Act;

/// The ETag of nothing.
const NONE: HeaderValue = HeaderValue::from_static("\"0\"");

/// What was found out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Promises {
    /// A copy does not replace what is there.
    pub(crate) copy: Conditional,
    /// A copy is made only of what was meant.
    pub(crate) source: Conditional,
    /// Only what was meant is removed.
    pub(crate) delete: Conditional,
    /// A list says the ETags.
    pub(crate) etags: bool,
}

/// Asks with two objects that are there for a moment.
pub(super) async fn probe(bucket: &Arc<Bucket>) -> Result<Promises> {
    let name = format!("{PROBE}/{:032x}", rand::rng().random::<u128>());
    let (first, second) = (bucket.own_path(&format!("{name}/a"))?, bucket.own_path(&format!("{name}/b"))?);
    let found = ask(bucket, &name, &first, &second).await;
    let tidied = bucket.remove(&first).await.and(bucket.remove(&second).await);
    let found = found?;
    tidied?;
    if [found.copy, found.source, found.delete].contains(&Conditional::Ignored) {
        tracing::warn!(
            event = "blob.no_conditions",
            bucket = bucket.settings.bucket,
            copy = ?found.copy,
            source = ?found.source,
            delete = ?found.delete,
            "this store ignores conditions on copies or removals: a move looks right before it acts, which is no lock"
        );
    }
    Ok(found)
}

async fn ask(bucket: &Arc<Bucket>, name: &str, first: &Path, second: &Path) -> Result<Promises> {
    for path in [first, second] {
        put(bucket, path, PutMode::Overwrite).await?;
    }
    let listed = list::found(Arc::clone(bucket), format!("{name}/")).try_next().await?;
    let copy = |condition: HeaderName, value: HeaderValue| async move {
        let mut headers = HeaderMap::from_iter([(condition, value)]);
        source(bucket, first, &mut headers)?;
        let call = Call { method: Method::PUT, path: second, headers, act: Act::Put, key: None };
        call.send_for_document(bucket).await.map(drop)
    };
    let replaced = judge(copy(IF_NONE_MATCH, HeaderValue::from_static("*")).await)?;
    let another = judge(copy(COPY_SOURCE_IF_MATCH, NONE).await)?;
    let headers = HeaderMap::from_iter([(IF_MATCH, NONE)]);
    let delete = Call { method: Method::DELETE, path: second, headers, act: Act::Delete, key: None };
    let removed: Result<(), Failed> = delete.send(bucket).await.map(drop);
    Ok(Promises {
        copy: replaced,
        source: another,
        delete: judge(removed)?,
        etags: listed.is_some_and(|listed| listed.etag.is_some()),
    })
}

//! `GET /api/download.zip`: many results in one file, streamed.
//!
//! Each result is read twice: once to check it and to learn its checksum, once to send it. So a damaged one never gets in, every
//! entry has its size in front, and memory is a few chunks whatever the size.

mod format;
mod names;

use axum::body::Body;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures::{TryStreamExt, stream};
use redrive_api::Problem;
use redrive_blob::{BlobError, Blobs, BlobsExt, Key, Sha256};
use redrive_model::{Code, JobId, Shown, Timestamp};
use redrive_store::{JobFilter, PageRequest};
use serde::Deserialize;
use tokio::sync::mpsc;

use crate::app::App;
use crate::download::{artifact, attachment, unreadable, xml_name};
use crate::own::Owned;
use crate::refusal::Refusal;
use crate::session::Session;
use format::{Directory, Entry};
use names::Names;

/// Pieces that wait for a client.
const WAITING: usize = 8;
/// The format's own limit, without its extension for larger files.
const MOST_BYTES: u64 = u32::MAX as u64 - (64 << 20);

/// Which results.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct ZipQuery {
    /// Ids of own complete jobs, with commas between them; without, the newest complete ones that have a result.
    ids: Option<String>,
}

/// One entry to come.
struct Planned {
    key: Key,
    hash: Sha256,
    name: String,
    at: Timestamp,
}

/// Many results in one ZIP.
#[utoipa::path(get, path = "/api/download.zip", tag = "jobs", params(ZipQuery), responses(
    (status = 200, description = "The ZIP", content_type = "application/zip", body = String),
    (status = 403, description = "FORBIDDEN: one of them is not yours", body = Problem, content_type = "application/problem+json"),
    (status = 404, description = "EXPIRED: one of them is gone, or there is none; NOT_FOUND: said to operators alone, there is no such job", body = Problem, content_type = "application/problem+json"),
    (status = 409, description = "NOT_READY: one of them is not complete", body = Problem, content_type = "application/problem+json"),
    (status = 413, description = "VALIDATION_TOO_MANY", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn download(
    State(app): State<App>,
    session: Session,
    query: Result<Query<ZipQuery>, QueryRejection>,
) -> Result<Response, Refusal> {
    let unknown = |_| Refusal::new(Code::ValidationUnknownField, "The query can hold ids.");
    let Query(query) = query.map_err(unknown)?;
    let jobs = match query.ids.as_deref().filter(|ids| !ids.is_empty()) {
        Some(ids) => named(&app, &session, ids).await?,
        None => newest(&app, &session).await?,
    };
    let planned = plan(&app, &jobs).await?;
    let (sender, receiver) = mpsc::channel::<Result<Bytes, BlobError>>(WAITING);
    let results = app.results().clone();
    tokio::spawn(async move {
        if let Err(error) = write(&*results, planned, &sender).await {
            tracing::warn!(event = "zip.cut", "{error}");
            let _ = sender.send(Err(error)).await;
        }
    });
    let pieces = stream::unfold(receiver, |mut receiver| async {
        receiver.recv().await.map(|piece| (piece, receiver))
    });
    let mut response = Body::from_stream(pieces).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/zip"));
    headers.insert(header::CONTENT_DISPOSITION, attachment("results.zip"));
    Ok(response)
}

/// Exactly these, in this order.
async fn named(app: &App, session: &Session, ids: &str) -> Result<Vec<Owned>, Refusal> {
    let mut jobs = Vec::new();
    for id in ids.split(',').map(str::trim) {
        if jobs.len() >= app.limits().zip_entries {
            return Err(too_many(app));
        }
        let id = id.parse::<JobId>().map_err(|_| session.missing())?;
        jobs.push(app.desk().owned(session, id).await?);
    }
    Ok(jobs)
}

/// The newest that can be had.
async fn newest(app: &App, session: &Session) -> Result<Vec<Owned>, Refusal> {
    let most = app.limits().zip_entries;
    let (mut jobs, mut cursor) = (Vec::new(), None);
    loop {
        let filter = JobFilter { shown: vec![Shown::Complete], ..JobFilter::default() };
        let page = app.desk().list_own(session, filter, PageRequest { limit: 200, cursor }).await?;
        let converted = |job: &Owned| crate::view::can_download(job) && job.made().is_some();
        jobs.extend(page.jobs.into_iter().filter(converted));
        cursor = page.next;
        if cursor.is_none() || jobs.len() >= most {
            jobs.truncate(most);
            break;
        }
    }
    if jobs.is_empty() {
        return Err(Refusal::new(Code::Expired, "You have no result to download."));
    }
    Ok(jobs)
}

async fn plan(app: &App, jobs: &[Owned]) -> Result<Vec<Planned>, Refusal> {
    let (mut planned, mut names, mut bytes) = (Vec::new(), Names::default(), 0u64);
    for job in jobs {
        let (key, hash, _) = artifact(job)?;
        let head = app.results().head(&key).await.map_err(|error| unreadable(job, error))?;
        bytes = bytes.saturating_add(head.bytes);
        let name = names.free(&xml_name(job.label.as_deref()));
        planned.push(Planned { key, hash, name, at: job.finished_at.unwrap_or(job.created_at) });
    }
    if bytes > MOST_BYTES {
        return Err(too_many(app));
    }
    Ok(planned)
}

fn too_many(app: &App) -> Refusal {
    let text = format!(
        "One ZIP holds at most {} results and 4 GB: ask for some at a time.",
        app.limits().zip_entries
    );
    Refusal::new(Code::ValidationTooMany, text)
}

/// Writes the whole file. Nobody reads any more: it ends without a word.
async fn write(
    results: &dyn Blobs,
    planned: Vec<Planned>,
    sender: &mpsc::Sender<Result<Bytes, BlobError>>,
) -> Result<(), BlobError> {
    let mut directory = Directory::default();
    for one in planned {
        let (checksum, size) = checksum(results, &one).await?;
        let entry = Entry { name: one.name, at: one.at, checksum, size };
        if sender.send(Ok(directory.begin(&entry))).await.is_err() {
            return Ok(());
        }
        let mut bytes = results.read_verified(&one.key, one.hash).await?.bytes;
        while let Some(chunk) = bytes.try_next().await? {
            if sender.send(Ok(chunk)).await.is_err() {
                return Ok(());
            }
        }
    }
    let _ = sender.send(Ok(directory.end())).await;
    Ok(())
}

async fn checksum(results: &dyn Blobs, one: &Planned) -> Result<(u32, u32), BlobError> {
    let mut bytes = results.read_verified(&one.key, one.hash).await?.bytes;
    let (mut checksum, mut size) = (crc32fast::Hasher::new(), 0u64);
    while let Some(chunk) = bytes.try_next().await? {
        checksum.update(&chunk);
        size += chunk.len() as u64;
    }
    let size = u32::try_from(size).map_err(|_| BlobError::TooLarge { limit: MOST_BYTES })?;
    Ok((checksum.finalize(), size))
}

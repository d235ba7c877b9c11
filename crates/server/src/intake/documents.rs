//! The documents of intake: pages of them, one with its history, and reports about it.

use axum::Json;
use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, RawQuery, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use redrive_api::{
    DocumentFailure, DocumentHistory, DocumentList, DocumentMove, DocumentQuery, IntakeDocument, Problem,
    ReportAsked,
};
use redrive_model::{Code, JobId};
use redrive_store::PageRequest;
use redrive_store::intake::{DocumentFilter, DocumentRow, MoveRow, RecordFilter, Stage};
use url::form_urlencoded;

use super::records;
use crate::app::App;
use crate::deadline::to_its_end;
use crate::download::{SANDBOX, attachment, held_back};
use crate::operator::Operator;
use crate::query;
use crate::refusal::Refusal;

const KNOWN: &str = "The query can hold stage, owner, q, limit and cursor.";
/// What Word opens.
const DOCX: HeaderValue =
    HeaderValue::from_static("application/vnd.openxmlformats-officedocument.wordprocessingml.document");
/// So many failures of one document are told.
const FAILURES: usize = 200;

/// Documents, newest first.
#[utoipa::path(get, path = "/api/intake/documents", tag = "operators", params(DocumentQuery), responses(
    (status = 200, body = DocumentList),
    (status = 400, description = "VALIDATION_*", body = Problem, content_type = "application/problem+json"),
    (status = 404, description = "NOT_FOUND: this server has no INTAKE_URL", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn list(
    State(app): State<App>,
    operator: Operator,
    RawQuery(asked): RawQuery,
) -> Result<Json<DocumentList>, Refusal> {
    let (filter, page) = parse(read(asked.as_deref())?)?;
    let page = app.desk().documents(operator, filter, page).await?;
    let documents = page.rows.into_iter().map(view).collect();
    Ok(Json(DocumentList { documents, next_cursor: page.next }))
}

/// One document, where its PDF went, and what failed.
#[utoipa::path(get, path = "/api/intake/documents/{id}", tag = "operators", params(("id" = String, Path, description = "The document")), responses(
    (status = 200, body = DocumentHistory),
    (status = 404, description = "NOT_FOUND: no such document, or this server has no INTAKE_URL", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn one(
    State(app): State<App>,
    operator: Operator,
    id: Result<Path<String>, PathRejection>,
) -> Result<Json<DocumentHistory>, Refusal> {
    history(&app, operator, named(id)?).await.map(Json)
}

/// Asks for a report about a document that failed, whatever became of it. When nothing happened since the
/// last one, it is the same.
#[utoipa::path(post, path = "/api/intake/documents/{id}/report", tag = "operators", params(("id" = String, Path, description = "The document")), responses(
    (status = 202, body = ReportAsked),
    (status = 409, description = "CONFLICT_STATE: it has not failed", body = Problem, content_type = "application/problem+json"),
    (status = 404, description = "NOT_FOUND: no such document, or this server has no INTAKE_URL", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn report(
    State(app): State<App>,
    operator: Operator,
    id: Result<Path<String>, PathRejection>,
) -> Result<(StatusCode, Json<ReportAsked>), Refusal> {
    let job = ask_report(&app, operator, named(id)?).await?;
    Ok((StatusCode::ACCEPTED, Json(ReportAsked { job_id: job.to_string() })))
}

/// The newest report about a document: a Word document.
#[utoipa::path(get, path = "/api/intake/documents/{id}/report", tag = "operators", params(("id" = String, Path, description = "The document")), responses(
    (status = 200, description = "The report", content_type = "application/vnd.openxmlformats-officedocument.wordprocessingml.document", body = String),
    (status = 404, description = "NOT_FOUND: no such document, no report about it, or this server has no INTAKE_URL", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn newest_report(
    State(app): State<App>,
    operator: Operator,
    id: Result<Path<String>, PathRejection>,
) -> Result<Response, Refusal> {
    let none =
        || Refusal::new(Code::NotFound, "There is no report about this document, or somebody took it away.");
    let (name, reading) = app.desk().report_of(operator, named(id)?).await?.ok_or_else(none)?;
    let bytes = reading.head.bytes;
    let mut response = Body::from_stream(held_back(reading.bytes)).into_response();
    let answer = response.headers_mut();
    answer.insert(header::CONTENT_TYPE, DOCX);
    answer.insert(header::CONTENT_DISPOSITION, attachment(&name));
    answer.insert(header::CONTENT_SECURITY_POLICY, SANDBOX);
    answer.insert(header::CONTENT_LENGTH, HeaderValue::from(bytes));
    Ok(response)
}

/// Asks for it, whether or not the client waits.
pub(crate) async fn ask_report(app: &App, operator: Operator, id: JobId) -> Result<JobId, Refusal> {
    let desk = app.desk().clone();
    to_its_end(async move { desk.report_on(operator, id).await }).await?.ok_or_else(missing)
}

/// One document with its history.
pub(crate) async fn history(app: &App, operator: Operator, id: JobId) -> Result<DocumentHistory, Refusal> {
    let document = app.desk().document(operator, id).await?.ok_or_else(missing)?;
    let moves = app.desk().moves_of(operator, id).await?;
    let filter = RecordFilter { document: Some(id), ..RecordFilter::default() };
    let page = PageRequest { limit: FAILURES, cursor: None };
    let failures = app.desk().failure_records(operator, filter, page).await?;
    Ok(DocumentHistory {
        document: view(document),
        moves: moves.into_iter().map(moved).collect(),
        failures: failures.rows.iter().map(records::view).collect(),
    })
}

/// The id in a path.
pub(crate) fn named(id: Result<Path<String>, PathRejection>) -> Result<JobId, Refusal> {
    id.ok().and_then(|Path(text)| text.parse().ok()).ok_or_else(missing)
}

fn missing() -> Refusal {
    Refusal::new(Code::NotFound, "There is no such document, or it is too old and was removed.")
}

fn read(text: Option<&str>) -> Result<DocumentQuery, Refusal> {
    let mut asked = DocumentQuery::default();
    for (name, value) in form_urlencoded::parse(text.unwrap_or_default().as_bytes()) {
        let place = match &*name {
            "stage" => &mut asked.stage,
            "owner" => &mut asked.owner,
            "q" => &mut asked.q,
            "limit" => &mut asked.limit,
            "cursor" => &mut asked.cursor,
            _ => return Err(Refusal::new(Code::ValidationUnknownField, KNOWN)),
        };
        query::once(place, &name, &value)?;
    }
    Ok(asked)
}

fn parse(asked: DocumentQuery) -> Result<(DocumentFilter, PageRequest), Refusal> {
    let stage = |word: &str| {
        Stage::parse(word)
            .ok_or_else(|| Refusal::field("stage", "is none of waiting, processing, done, failed, gone"))
    };
    let stages = query::given(asked.stage).map(|words| words.split(',').map(stage).collect()).transpose()?;
    let filter = DocumentFilter {
        // The desk knows which place it is.
        root: String::new(),
        stages: stages.unwrap_or_default(),
        owner: query::given(asked.owner),
        text: query::given(asked.q),
    };
    let page =
        PageRequest { limit: query::limit(asked.limit)?, cursor: query::cursor::<JobId>(asked.cursor)? };
    Ok((filter, page))
}

/// As the wire has it.
pub(crate) fn view(row: DocumentRow) -> IntakeDocument {
    IntakeDocument {
        id: row.id.to_string(),
        path: row.path,
        place: row.place,
        owner: row.owner,
        stage: row.stage.as_str().to_owned(),
        bytes: row.bytes,
        sha256: row.sha256,
        retry_count: row.retries,
        max_retries_exceeded: row.exceeded,
        last_failure: row
            .failure
            .map(|(code, message)| DocumentFailure { code: code.name().to_owned(), message }),
        report: row.report,
        created_at: row.created_at,
        updated_at: row.updated_at,
    }
}

fn moved(row: MoveRow) -> DocumentMove {
    DocumentMove {
        from: row.from,
        to: row.to,
        why: row.why,
        state: row.state.as_str().to_owned(),
        note: row.note,
        at: row.began_at,
    }
}

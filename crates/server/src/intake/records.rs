//! Which failure records are asked for, and how one looks.

use redrive_api::{FailureRecord, RecordQuery};
use redrive_model::{Code, JobId};
use redrive_store::intake::{FailureRecord as Row, RecordFilter};
use redrive_store::{Behind, PageRequest};
use url::form_urlencoded;

use crate::query;
use crate::refusal::Refusal;

const KNOWN: &str = "The query can hold owner, code, job_id, since, until, notified, q, limit and cursor.";

/// Reads the question. Each name stands in it once.
pub(crate) fn read(text: Option<&str>) -> Result<RecordQuery, Refusal> {
    let mut asked = RecordQuery::default();
    for (name, value) in form_urlencoded::parse(text.unwrap_or_default().as_bytes()) {
        let place = match &*name {
            "owner" => &mut asked.owner,
            "code" => &mut asked.code,
            "job_id" => &mut asked.job_id,
            "since" => &mut asked.since,
            "until" => &mut asked.until,
            "notified" => &mut asked.notified,
            "q" => &mut asked.q,
            "limit" => &mut asked.limit,
            "cursor" => &mut asked.cursor,
            _ => return Err(Refusal::new(Code::ValidationUnknownField, KNOWN)),
        };
        query::once(place, &name, &value)?;
    }
    Ok(asked)
}

/// The filter and the page.
pub(crate) fn parse(asked: RecordQuery) -> Result<(RecordFilter, PageRequest), Refusal> {
    let job = |text: String| text.parse::<JobId>().map_err(|_| Refusal::field("job_id", "is no id of a job"));
    let notified = |word: String| match word.as_str() {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(Refusal::field("notified", "is neither true nor false")),
    };
    let filter = RecordFilter {
        document: query::given(asked.job_id).map(job).transpose()?,
        owner: query::given(asked.owner),
        code: query::code(asked.code)?,
        since: query::instant("since", asked.since)?,
        until: query::instant("until", asked.until)?,
        notified: query::given(asked.notified).map(notified).transpose()?,
        text: query::given(asked.q),
    };
    let page = PageRequest {
        limit: query::limit(asked.limit)?,
        cursor: query::cursor::<Behind<JobId>>(asked.cursor)?,
    };
    Ok((filter, page))
}

/// As the wire has it.
pub(crate) fn view(row: &Row) -> FailureRecord {
    FailureRecord {
        failure_id: row.failure_id.to_string(),
        failure_date: row.timestamp.strftime("%Y-%m-%d").to_string(),
        timestamp: row.timestamp,
        iam_username: row.owner.clone(),
        pdf_key: row.pdf_key.clone(),
        queue_key: row.queue_key.clone(),
        failed_key: row.failed_key.clone(),
        retry_count: row.retry_count,
        max_retries_exceeded: row.max_retries_exceeded,
        failure_reason: row.failure_reason.clone(),
        notified: row.notified,
        code: row.code.name().to_owned(),
        job_id: row.document.to_string(),
    }
}

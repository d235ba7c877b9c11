//! An event as JSON: the words of the API's own events, with whose it is and which batch it belongs to.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use redrive_engine::store::Event;
use serde::Serialize;

/// What others read.
#[derive(Debug, Serialize)]
pub(crate) struct Told<'a> {
    sequence: i64,
    r#type: &'static str,
    at: Timestamp,
    job_id: Option<String>,
    batch_id: Option<String>,
    workload: Option<&'a str>,
    owner: Option<&'a str>,
    generation: u32,
    attempt: u32,
    duration_ms: Option<i64>,
    target_status: Option<u16>,
    error_code: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    topic: Option<&'a str>,
    /// A user's own payload, when it is text.
    #[serde(skip_serializing_if = "Option::is_none")]
    payload: Option<&'a str>,
    /// When it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    payload_base64: Option<String>,
    /// When it is larger than the server takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    payload_cut: Option<bool>,
}

impl<'a> Told<'a> {
    /// The same without a payload that is too large for the server.
    pub(crate) fn cut(self) -> Self {
        Self { payload: None, payload_base64: None, payload_cut: Some(true), ..self }
    }

    pub(crate) fn of(event: &'a Event) -> Self {
        let bytes = event.payload.as_deref();
        let payload = bytes.and_then(|bytes| std::str::from_utf8(bytes).ok());
        Self {
            sequence: event.seq.0,
            r#type: event.kind.as_str(),
            at: event.at,
            job_id: event.job.map(|job| job.to_string()),
            batch_id: event.batch.map(|batch| batch.to_string()),
            workload: event.workload.as_ref().map(|workload| workload.as_str()),
            owner: event.owner.as_ref().map(|owner| owner.as_str()),
            generation: event.generation,
            attempt: event.attempt,
            duration_ms: event.duration_ms,
            target_status: event.target_status,
            error_code: event.code.map(|code| code.public().name()),
            topic: event.topic.as_deref(),
            payload,
            payload_base64: bytes.filter(|_| payload.is_none()).map(|bytes| STANDARD.encode(bytes)),
            payload_cut: None,
        }
    }
}

//! What went wrong with a member, for people outside.

use redrive_engine::store::{AttemptRow, Store, StoreError};
use redrive_engine::{Code, JobId};
use serde_json::{Map, Value};

/// A failure as its owner sees it.
pub(super) struct Failed {
    pub(super) code: String,
    pub(super) message: String,
    pub(super) context: Map<String, Value>,
}

/// The newest failure of a job's attempts.
pub(super) async fn newest(store: &dyn Store, job: JobId) -> Result<Option<Failed>, StoreError> {
    let attempts = store.attempts(job).await?;
    Ok(attempts.iter().rev().find_map(|attempt| Some(of(attempt.code?, Some(attempt)))))
}

/// A code, with what its attempt knows. The line of a download was written to be told: it has no secret, and nothing that the origin
/// wrote. The lines of our own parts are for operators.
pub(super) fn of(code: Code, attempt: Option<&AttemptRow>) -> Failed {
    let public = code.public();
    let told = attempt.filter(|_| public.name().starts_with("DOWNLOAD_"));
    let message = told.and_then(|attempt| attempt.message.clone());
    let context = attempt.and_then(|attempt| attempt.context.as_deref());
    let mut context: Map<String, Value> =
        context.and_then(|context| serde_json::from_str(context).ok()).unwrap_or_default();
    context.retain(|name, _| matches!(name.as_str(), "attempt" | "host" | "hop" | "proxy" | "status"));
    if let Some(attempt) = attempt {
        context.entry("attempt").or_insert_with(|| attempt.number.into());
    }
    for name in ["proxy", "status"] {
        context.entry(name).or_insert(Value::Null);
    }
    Failed {
        code: public.name().to_owned(),
        message: message.unwrap_or_else(|| public.entry().what_happened.to_owned()),
        context,
    }
}

//! `GET /health`: converts a tiny PDF for real, and remembers the answer for a moment.

use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Json;
use axum::extract::State;
use tokio::sync::Mutex;
use tokio::task::spawn_blocking;

use super::convert;
use super::problem::{Code, Problem};
use super::state::Gateway;
use crate::cage::Task;
use crate::write::Mapping;

/// One page with the word "ok".
pub(super) const TINY: &[u8] = include_bytes!("tiny.pdf");

/// How long a good answer is remembered, and a bad one.
const GOOD: Duration = Duration::from_secs(5);
const BAD: Duration = Duration::from_secs(1);

/// The last answer.
#[derive(Debug, Default)]
pub(super) struct Health {
    /// Held while the tiny PDF is converted, so that many who ask cost one child.
    last: Mutex<Option<(Instant, bool)>>,
}

impl Health {
    /// Whether a PDF can be converted. It does not wait in line: a busy converter is a healthy one.
    pub(super) async fn check(&self, gateway: &Gateway) -> bool {
        let mut last = self.last.lock().await;
        if let Some((at, well)) = *last
            && at.elapsed() < if well { GOOD } else { BAD }
        {
            return well;
        }
        let well = converts(gateway).await;
        *last = Some((Instant::now(), well));
        well
    }
}

async fn converts(gateway: &Gateway) -> bool {
    let folder = gateway.folder();
    let file = spawn_blocking(move || {
        let mut file = tempfile::tempfile_in(folder)?;
        file.write_all(TINY)?;
        std::io::Result::Ok(file)
    });
    let Ok(Ok(file)) = file.await else { return false };
    let task = Task::Convert { mapping: Mapping::Text, pages: None };
    match convert::run(gateway.cage.clone(), file, task, None).await {
        Ok(done) => done.bytes.is_some_and(|bytes| memchr::memmem::find(&bytes, b">ok</word>").is_some()),
        Err(_) => false,
    }
}

/// The answer.
pub(super) async fn health(State(gateway): State<Arc<Gateway>>) -> Result<Json<serde_json::Value>, Problem> {
    if gateway.health.check(&gateway).await {
        Ok(Json(serde_json::json!({ "status": "ok" })))
    } else {
        Err(Problem::new(Code::Busy, "A small PDF could not be converted."))
    }
}

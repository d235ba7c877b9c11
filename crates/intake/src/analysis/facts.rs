//! What a report is made of, from the rows.

use std::time::Duration;

use jiff::tz::TimeZone;
use redrive_engine::Code;
use redrive_engine::model::Timestamp;
use redrive_engine::model::instant;
use redrive_engine::store::AttemptRow;
use redrive_engine::store::intake::{DocumentRow, Stage};
use redrive_notify::analysis::{Analysis, Attempt, FileFacts, OriginalFailure, Pdf, Thresholds};

/// Everything that is known about a document and its runs.
pub(super) fn analysis(
    document: &DocumentRow,
    attempts: &[AttemptRow],
    pdf: Pdf,
    made: Timestamp,
) -> Analysis {
    let said =
        attempts.iter().rev().find_map(|row| Some((row.code?, row.message.clone().unwrap_or_default())));
    let (code, message) =
        said.or_else(|| document.failure.clone()).unwrap_or_else(|| (Code::Unknown, String::new()));
    Analysis {
        file: FileFacts {
            name: document.path.rsplit('/').next().unwrap_or_default().to_owned(),
            path: document.place.clone(),
            bytes: Some(document.bytes),
            sha256: document.sha256.clone(),
            owner: document.owner.clone(),
            received: Some(document.created_at),
            processed: attempts.last().map(|row| row.ended_at),
        },
        failure: OriginalFailure {
            code,
            message,
            given_up: matches!(document.stage, Stage::Failed | Stage::Gone),
            attempts: attempts.iter().map(attempt).collect(),
        },
        pdf,
        thresholds: Thresholds::default(),
        made,
        zone: TimeZone::UTC,
        link: None,
    }
}

fn attempt(row: &AttemptRow) -> Attempt {
    let took: Option<Duration> =
        row.started_at.map(|started| instant::between(started.min(row.ended_at), row.ended_at));
    Attempt {
        number: row.number,
        started: row.started_at.unwrap_or(row.ended_at),
        took,
        outcome: row.outcome.replace('_', " "),
        code: row.code,
    }
}

//! Turns what SQLite says into what a store may say. Nobody outside ever sees "database is locked".

use redrive_store::StoreError;
use rusqlite::ErrorCode;

/// Maps an error; the caller decides whether the connection must be thrown away.
pub(crate) fn store_error(error: rusqlite::Error) -> StoreError {
    error_of(&error)
}

/// The same, where the error is still looked at.
pub(crate) fn error_of(error: &rusqlite::Error) -> StoreError {
    let text = error.to_string();
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            StoreError::Unavailable { reason: "another process keeps the database file busy".into() }
        }
        Some(ErrorCode::DiskFull) => StoreError::Full,
        Some(ErrorCode::SystemIoFailure | ErrorCode::CannotOpen) => {
            StoreError::Unavailable { reason: format!("the disk answers with an error: {text}") }
        }
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
            StoreError::Refused(format!("the database file cannot be written: {text}"))
        }
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            StoreError::Refused(format!("the database file is damaged: {text}"))
        }
        Some(ErrorCode::ConstraintViolation) => StoreError::Invalid(format!("refused by the schema: {text}")),
        _ => StoreError::Internal(text),
    }
}

/// The same for a commit. When the disk fails in it, its last page may lie in the log all the same, and a process that
/// opens the file later finds it done.
pub(crate) fn commit_error(error: &rusqlite::Error) -> StoreError {
    match error_of(error) {
        StoreError::Unavailable { reason } if breaks_connection(error) => StoreError::Unknown { reason },
        told => told,
    }
}

/// Whether the connection can no longer be trusted.
pub(crate) fn breaks_connection(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::SystemIoFailure | ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
    )
}

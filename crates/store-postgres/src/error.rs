//! Turns what Postgres and the network say into what a store may say.

use redrive_store::StoreError;

/// What is to be done about an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Nothing was written; the same call may be made again at once.
    Retry,
    /// The connection is gone and with it the answer: the statement may or may not have been carried out.
    Lost,
    /// Trying again would not help now.
    Final,
}

/// What is to be done about this error.
pub(crate) fn kind(error: &sqlx::Error) -> Kind {
    match error {
        sqlx::Error::Database(db) => match db.code().as_deref() {
            // Serialization failure, deadlock.
            Some("40001" | "40P01") => Kind::Retry,
            // The server went away under the statement.
            Some(code) if code.starts_with("08") || matches!(code, "57P01" | "57P02" | "57P03" | "25P03") => {
                Kind::Lost
            }
            Some(_) | None => Kind::Final,
        },
        sqlx::Error::Io(_) | sqlx::Error::Protocol(_) | sqlx::Error::Tls(_) | sqlx::Error::WorkerCrashed => {
            Kind::Lost
        }
        _ => Kind::Final,
    }
}

/// Maps an error that is final for this call.
pub(crate) fn store_error(error: sqlx::Error) -> StoreError {
    let lost = kind(&error) == Kind::Lost;
    match error {
        sqlx::Error::Database(db) => {
            let code = db.code().unwrap_or_default().into_owned();
            let text = db.message().to_owned();
            match code.as_str() {
                "53100" => StoreError::Full,
                code if code.starts_with("23") || code.starts_with("22") => {
                    let what = db.constraint().map(|name| format!(" ({name})")).unwrap_or_default();
                    StoreError::Invalid(format!("refused by the schema{what}: {text}"))
                }
                // Timeouts, too many connections, shutting down, read-only standby, out of memory.
                code if lost || matches!(code, "57014" | "55P03" | "25006") || code.starts_with("53") => {
                    StoreError::Unavailable { reason: format!("Postgres: {text}") }
                }
                _ => StoreError::Internal(format!("Postgres {code}: {text}")),
            }
        }
        sqlx::Error::PoolTimedOut => {
            StoreError::Unavailable { reason: "no free connection to Postgres".into() }
        }
        sqlx::Error::PoolClosed => StoreError::Unavailable { reason: "the store is closed".into() },
        error if lost => {
            StoreError::Unavailable { reason: format!("the connection to Postgres broke: {error}") }
        }
        error => StoreError::Internal(error.to_string()),
    }
}

/// Makes a call that may be repeated without harm: again after a conflict or a broken connection, a few times.
macro_rules! repeating {
    ($call:expr) => {{
        let mut tries = 0u32;
        loop {
            match $call.await {
                Ok(value) => break Ok(value),
                Err(error) if tries < 3 && $crate::error::kind(&error) != $crate::error::Kind::Final => {
                    tries += 1;
                    $crate::error::breathe(tries).await;
                }
                Err(error) => break Err($crate::error::store_error(error)),
            }
        }
    }};
}
pub(crate) use repeating;

/// Makes a call that must not be repeated when its answer was lost.
macro_rules! once {
    ($call:expr) => {{
        let mut tries = 0u32;
        loop {
            match $call.await {
                Ok(value) => break Ok(value),
                Err(error) => match $crate::error::kind(&error) {
                    $crate::error::Kind::Retry if tries < 3 => {
                        tries += 1;
                        $crate::error::breathe(tries).await;
                    }
                    $crate::error::Kind::Lost => {
                        break Err(redrive_store::StoreError::Unknown {
                            reason: format!("the answer was lost: {error}"),
                        });
                    }
                    $crate::error::Kind::Retry | $crate::error::Kind::Final => {
                        break Err($crate::error::store_error(error));
                    }
                },
            }
        }
    }};
}
pub(crate) use once;

/// A short wait that differs from process to process, so that many do not come back at the same instant.
pub(crate) async fn breathe(tries: u32) {
    use std::hash::BuildHasher;
    let draw = std::collections::hash_map::RandomState::new().hash_one(tries);
    let ceiling = 50u64 << tries.min(5);
    tokio::time::sleep(std::time::Duration::from_millis(draw % ceiling)).await;
}

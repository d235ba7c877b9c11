//! Turns what Postgres and the network say into what a store may say.

use std::time::Duration;

use redrive_store::StoreError;

use crate::lanes::is_gone;

/// What is to be done about an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Nothing was written; the same call may be made again at once.
    Retry,
    /// The connection is gone and with it the answer: the statement may or may not have been carried out.
    Lost,
    /// Nothing was heard for longer than the server may take: the same, and asking again would only wait again.
    Silent,
    /// Trying again would not help now.
    Final,
}

impl Kind {
    /// Whether a call that may be made twice is made again.
    pub(crate) const fn may_repeat(self) -> bool {
        matches!(self, Self::Retry | Self::Lost)
    }

    /// Whether what was sent may have been carried out though nobody heard of it.
    pub(crate) const fn is_unheard(self) -> bool {
        matches!(self, Self::Lost | Self::Silent)
    }
}

/// The connection broke before anything of the call was sent that could have been carried out.
#[derive(Debug)]
struct Unsent(sqlx::Error);

impl std::fmt::Display for Unsent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Unsent {}

/// Says of an error that nothing was carried out, whatever became of the connection.
pub(crate) fn unsent(error: sqlx::Error) -> sqlx::Error {
    match kind(&error) {
        Kind::Lost => sqlx::Error::AnyDriverError(Box::new(Unsent(error))),
        Kind::Retry | Kind::Silent | Kind::Final => error,
    }
}

/// What is to be done about this error.
pub(crate) fn kind(error: &sqlx::Error) -> Kind {
    match error {
        error if is_gone(error) => Kind::Retry,
        sqlx::Error::Database(db) => match db.code().as_deref() {
            // Serialization failure, deadlock.
            Some("40001" | "40P01") => Kind::Retry,
            // The server went away under the statement.
            Some(code) if code.starts_with("08") || matches!(code, "57P01" | "57P02" | "57P03" | "25P03") => {
                Kind::Lost
            }
            Some(_) | None => Kind::Final,
        },
        sqlx::Error::Io(error) if error.kind() == std::io::ErrorKind::TimedOut => Kind::Silent,
        sqlx::Error::Io(_) | sqlx::Error::Protocol(_) | sqlx::Error::Tls(_) | sqlx::Error::WorkerCrashed => {
            Kind::Lost
        }
        sqlx::Error::AnyDriverError(error) if error.is::<Unsent>() => Kind::Retry,
        _ => Kind::Final,
    }
}

/// Maps an error that is final for this call.
pub(crate) fn store_error(error: sqlx::Error) -> StoreError {
    let lost = matches!(kind(&error), Kind::Lost | Kind::Silent);
    match error {
        error if is_gone(&error) => {
            StoreError::Unavailable { reason: "its lane was removed just now: once more".into() }
        }
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
        sqlx::Error::AnyDriverError(error) if error.is::<Unsent>() => {
            StoreError::Unavailable { reason: format!("no connection to Postgres: {error}") }
        }
        error if lost => {
            StoreError::Unavailable { reason: format!("the connection to Postgres broke: {error}") }
        }
        error => StoreError::Internal(error.to_string()),
    }
}

/// The server ends every statement after ten seconds. Who has heard nothing by now will hear nothing: the machine or the
/// network is gone without a word.
const PATIENCE: Duration = Duration::from_secs(15);

/// Waits for the answer, but not for ever. A call that is given up drops its connection.
pub(crate) async fn answered<T, E: From<sqlx::Error>>(
    call: impl Future<Output = Result<T, E>>,
) -> Result<T, E> {
    let silence = || std::io::Error::new(std::io::ErrorKind::TimedOut, "no answer from Postgres for 15 s");
    match tokio::time::timeout(PATIENCE, call).await {
        Ok(result) => result,
        Err(_) => Err(sqlx::Error::Io(silence()).into()),
    }
}

/// Maps the last error of a call that writes and was tried more than once. Where the answer to one of its tries was lost, nobody
/// knows what is written, whatever the last one says.
pub(crate) fn write_error(unheard: bool, error: sqlx::Error) -> StoreError {
    if unheard {
        StoreError::Unknown { reason: format!("the answer was lost: {error}") }
    } else {
        store_error(error)
    }
}

/// Makes a call that only reads: again after a conflict or a broken connection, a few times.
macro_rules! repeating {
    ($call:expr) => {{
        let mut tries = 0u32;
        loop {
            match $crate::error::answered($call).await {
                Ok(value) => break Ok(value),
                Err(error) if tries < 3 && $crate::error::kind(&error).may_repeat() => {
                    tries += 1;
                    $crate::error::breathe(tries).await;
                }
                Err(error) => break Err($crate::error::store_error(error)),
            }
        }
    }};
}
pub(crate) use repeating;

/// Makes a call that writes and may be repeated without harm: as often. What nobody has answered in the end is unknown.
macro_rules! rewriting {
    ($call:expr) => {{
        let (mut tries, mut unheard) = (0u32, false);
        loop {
            match $crate::error::answered($call).await {
                Ok(value) => break Ok(value),
                Err(error) => {
                    let kind = $crate::error::kind(&error);
                    unheard |= kind.is_unheard();
                    if tries == 3 || !kind.may_repeat() {
                        break Err($crate::error::write_error(unheard, error));
                    }
                    tries += 1;
                    $crate::error::breathe(tries).await;
                }
            }
        }
    }};
}
pub(crate) use rewriting;

/// Makes a call that must not be repeated when its answer was lost.
macro_rules! once {
    ($call:expr) => {{
        let mut tries = 0u32;
        loop {
            match $crate::error::answered($call).await {
                Ok(value) => break Ok(value),
                Err(error) => match $crate::error::kind(&error) {
                    $crate::error::Kind::Retry if tries < 3 => {
                        tries += 1;
                        $crate::error::breathe(tries).await;
                    }
                    $crate::error::Kind::Lost | $crate::error::Kind::Silent => {
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
    tokio::time::sleep(Duration::from_millis(draw % ceiling)).await;
}

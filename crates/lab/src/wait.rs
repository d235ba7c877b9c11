//! Waiting for what must come.

use std::panic::Location;
use std::time::Duration;

/// Nothing in a test may take longer than this. Far more than it takes: the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(60);
/// Between two questions: a session may ask fifty times a second.
const PAUSE: Duration = Duration::from_millis(30);

/// Asks until there is an answer.
#[track_caller]
#[expect(clippy::panic, reason = "for tests: what does not come is a failed test")]
pub fn eventually<T>(
    what: impl std::fmt::Display,
    mut ask: impl AsyncFnMut() -> Option<T>,
) -> impl Future<Output = T> {
    let caller = Location::caller();
    async move {
        let asking = async {
            loop {
                if let Some(answer) = ask().await {
                    return answer;
                }
                tokio::time::sleep(PAUSE).await;
            }
        };
        match tokio::time::timeout(PATIENCE, asking).await {
            Ok(answer) => answer,
            Err(_) => panic!("{caller}: waited in vain for {what}"),
        }
    }
}

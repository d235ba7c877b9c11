//! What must hold after every run, whatever was killed: the client's ledger against the store, by the public trait alone.

use std::time::Duration;

use redrive::JobId;
use redrive::store::EventKind;
use redrive_model::{State, instant};
use redrive_store_conformance::Audit;

use crate::kit::{Database, Folder, eventually};

/// Nobody may work on the database meanwhile.
///
/// Every acknowledged job exists and has ended; what is complete was completed once in its generation, by an attempt that
/// had really reached its end; nobody had more executions than its cap. Then everything that the stores' own suite checks:
/// events folded equal the rows, one attempt for every token, dead letters, counts.
pub(crate) async fn audit(database: &Database, folder: &Folder, acknowledged: &[JobId]) {
    let lines = folder.lines();
    for id in acknowledged {
        let row = database.store().job(*id).await.unwrap().unwrap_or_else(|| panic!("{id} is lost"));
        assert!(row.state.is_terminal(), "{row:#?}");
        assert!(row.max_attempts.is_none_or(|cap| row.attempt <= cap), "{row:#?}");
        let events = database.store().job_events(*id).await.unwrap();
        let complete = |event: &&redrive::store::Event| {
            event.kind == EventKind::Complete && event.generation == row.generation
        };
        let completions = events.iter().filter(complete).count();
        assert_eq!(completions, usize::from(row.state == State::Complete), "{row:#?} {events:#?}");
        if let Some(result) = row.result.as_deref().filter(|result| !result.is_empty()) {
            assert_eq!(result, row.token.0.to_string(), "the result is the newest claim's: {row:#?}");
            let mine = |line: &&redrive_lab::worker::line::Line| {
                line.job == *id && line.token == row.token.0 && line.word == "wrote"
            };
            assert_eq!(lines.iter().filter(mine).count(), 1, "{row:#?} {lines:#?}");
        }
    }
    nothing_becomes_due(database).await;
    Audit::default().run(&**database.store()).await;
}

/// The engine's own chores may wait for another try: what is due must not change between two looks.
async fn nothing_becomes_due(database: &Database) {
    let still = async || {
        let soon = instant::after(database.now().await, Duration::from_secs(5));
        let due = database.store().next_due().await.unwrap();
        due.is_none_or(|due| due > soon).then_some(())
    };
    eventually("the queue to be still", still).await;
}

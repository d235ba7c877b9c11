//! What became of a batch of parts, read from its members.

use redrive_blob::{Key, Sha256};
use redrive_engine::model::State;
use redrive_engine::store::{BatchRow, DeadState, JobFilter, JobRow, PageRequest};
use redrive_engine::{By, Code, Engine, Failure, member_number};

use super::part::PartMade;
use super::plan::Range;

/// Members that are read at once.
const PAGE: usize = 200;
/// A warning that is true of a whole only when it is true of every part.
const NO_TEXT: &str = "no-text-layer";

/// How a batch of parts ended.
pub(super) enum Ended {
    /// All were made.
    Made(AllMade),
    /// The gateway does not know ranges.
    NoRange,
    /// One failed: its code, and which pages it had.
    Failed(Failure),
}

/// All parts, in order.
pub(super) struct AllMade {
    pub(super) ranges: Vec<Range>,
    pub(super) keys: Vec<(Key, Sha256)>,
    pub(super) warnings: Vec<String>,
}

/// Reads the members of a batch that has ended.
pub(super) async fn of(engine: &Engine, row: &BatchRow) -> Result<Ended, Failure> {
    let (batch, mut rows, mut cursor) = (row.id, Vec::new(), None);
    loop {
        let filter = JobFilter { batch: Some(batch), ..JobFilter::default() };
        let page = engine.store().jobs(filter, PageRequest { limit: PAGE, cursor }).await;
        let page = page.map_err(|error| Failure::new(error.code(), error))?;
        rows.extend(page.rows);
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    rows.sort_by_key(|row| member_number(batch, row.id));
    if rows.len() as u64 != row.counters.total {
        return Err(Failure::new(Code::SystemInternal, "parts of the document are not there any more"));
    }
    if let Some(row) = culprit(&rows) {
        let failure = failure(engine, row).await?;
        forget(engine, &rows).await;
        return Ok(Ended::Failed(failure));
    }
    let mut all = AllMade { ranges: Vec::new(), keys: Vec::new(), warnings: Vec::new() };
    let mut warned = Vec::with_capacity(rows.len());
    for row in &rows {
        let made = row.result.as_deref().and_then(|json| serde_json::from_str::<PartMade>(json).ok());
        match made {
            Some(PartMade::Stored { range, key, sha256, warnings }) => {
                let (Ok(key), Some(sha256)) = (Key::parse(&key), Sha256::parse(&sha256)) else {
                    return Err(Failure::new(Code::SystemInternal, "a part lies at no place"));
                };
                all.ranges.push(range);
                all.keys.push((key, sha256));
                warned.push(warnings);
            }
            Some(PartMade::NoRange) => return Ok(Ended::NoRange),
            None => return Err(Failure::new(Code::SystemInternal, "a part says nothing of itself")),
        }
    }
    all.warnings = together(&warned);
    Ok(Ended::Made(all))
}

/// The first part that has a failure of its own; those that were stopped because of it come after.
fn culprit(rows: &[JobRow]) -> Option<&JobRow> {
    let lost = |row: &&JobRow| row.state != State::Complete;
    let own = |row: &&JobRow| row.failure_code.is_some_and(|code| code != Code::Cancelled);
    rows.iter().filter(lost).find(own).or_else(|| rows.iter().find(lost))
}

/// A part's failure as that of its document: the same code and sentence, and which pages it had.
async fn failure(engine: &Engine, row: &JobRow) -> Result<Failure, Failure> {
    let attempts = engine.store().attempts(row.id).await;
    let attempts = attempts.map_err(|error| Failure::new(error.code(), error))?;
    let said = attempts.iter().rev().find_map(|attempt| attempt.message.as_deref());
    let said = said.or(row.failure_message.as_deref()).unwrap_or("it was stopped");
    let pages = row.label.as_deref().and_then(|label| label.rsplit_once(", ")).map(|(_, pages)| pages);
    let code = row.failure_code.unwrap_or(Code::Cancelled);
    let failure = Failure::new(code, format!("{}: {said}", pages.unwrap_or("a part")));
    Ok(match &row.failure_message {
        Some(sentence) => failure.say(sentence),
        None => failure,
    })
}

/// What parts left as dead letters is the document's failure, and told there.
async fn forget(engine: &Engine, rows: &[JobRow]) {
    let mut offsets = Vec::new();
    for row in rows.iter().filter(|row| row.state == State::Failed) {
        match engine.store().dead_letters_of(row.id).await {
            Ok(letters) => {
                let open = letters.into_iter().filter(|letter| letter.state == DeadState::Open);
                offsets.extend(open.map(|letter| letter.offset));
            }
            Err(error) => tracing::warn!(event = "intake.letters_left", "{error}"),
        }
    }
    if offsets.is_empty() {
        return;
    }
    if let Err(error) = engine.discard(offsets, &By::new("intake")).await {
        tracing::warn!(event = "intake.letters_left", "{error}");
    }
}

/// The warnings of all parts, each once.
fn together(parts: &[Vec<String>]) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for warning in parts.iter().flatten() {
        let holds = warning != NO_TEXT || parts.iter().all(|part| part.contains(warning));
        if holds && !all.contains(warning) {
            all.push(warning.clone());
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_has_no_text_only_when_no_part_has() {
        let part = |warnings: &[&str]| warnings.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        assert_eq!(together(&[part(&[NO_TEXT, "repaired"]), part(&["repaired"])]), ["repaired"]);
        assert_eq!(together(&[part(&[NO_TEXT]), part(&[NO_TEXT])]), [NO_TEXT]);
        assert!(together(&[]).is_empty());
    }
}

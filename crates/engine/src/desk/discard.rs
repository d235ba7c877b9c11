//! Dead letters that nobody wants back, by the many: counted first, then closed in pieces, with one line in the trail.

use redrive_model::limits::MAX_PAGE;
use redrive_model::{Code, Offset};
use redrive_store::{ActEnd, DeadFilter, DeadState, Matching, PageRequest};

use super::By;
use crate::{Engine, EngineError, Result};

/// What became of many dead letters that were not wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BulkDiscarded {
    /// So many were open and are discarded.
    pub discarded: u64,
    /// It stopped at its bound, and more may match.
    pub more: bool,
}

impl Engine {
    /// How many open dead letters match now, and the newest of them: exactly these are discarded, if nobody acts on them meanwhile and the
    /// filter says how far it goes ([`DeadFilter::upto`]). Refused when the filter says nothing.
    pub async fn count_discard(&self, filter: DeadFilter) -> Result<Matching<Offset>> {
        Ok(self.store().matching_dead(open(filter)?).await?)
    }

    /// Marks open dead letters that match as not wanted, the oldest first and at most so many. One that somebody has acted on since is left
    /// alone, and so is what dies meanwhile.
    pub async fn discard_matching(&self, filter: DeadFilter, most: usize, by: &By) -> Result<BulkDiscarded> {
        let filter = open(filter)?;
        let subject = format!("dead letters {}", which(&filter));
        let act = async {
            let found = self.store().matching_dead(filter.clone()).await?;
            let filter = DeadFilter { upto: found.newest, oldest_first: true, ..filter };
            let mut done = BulkDiscarded { discarded: 0, more: false };
            let (mut seen, mut cursor) = (0, None);
            while found.newest.is_some() {
                let limit = MAX_PAGE.min(most - seen);
                let page = self.store().dead_letters(filter.clone(), PageRequest { limit, cursor }).await?;
                let offsets: Vec<Offset> = page.rows.iter().map(|row| row.offset).collect();
                seen += offsets.len();
                if !offsets.is_empty() {
                    done.discarded += self.store().discard(offsets).await?;
                }
                cursor = page.next;
                done.more = cursor.is_some() && found.count > seen as u64;
                if cursor.is_none() || seen >= most {
                    break;
                }
            }
            Ok((found.count, done))
        };
        let words = |(before, done): &(u64, BulkDiscarded)| {
            let outcome = match done.more {
                false => format!("{} discarded", done.discarded),
                true => format!("{} discarded, more match", done.discarded),
            };
            let left = before.saturating_sub(done.discarded);
            ActEnd::from(outcome).from_to(format!("{before} open"), format!("{left} open"))
        };
        Ok(self.acted(by, "dead.discard", subject, act, words).await?.1)
    }
}

/// The filter for what is open. One that says nothing would mean everything.
fn open(filter: DeadFilter) -> Result<DeadFilter> {
    let filter = DeadFilter { state: Some(DeadState::Open), ..filter };
    if which(&DeadFilter { upto: None, ..filter.clone() }).is_empty() {
        let words = "say which dead letters: many are discarded by a filter only".to_owned();
        return Err(EngineError::refused(Code::ValidationFilterRequired, words));
    }
    Ok(filter)
}

/// The words of a filter, for the trail.
fn which(filter: &DeadFilter) -> String {
    let words = [
        ("of", filter.workload.as_ref().map(ToString::to_string)),
        ("code", filter.code.map(|code| code.name().to_owned())),
        ("group", filter.group.as_ref().map(ToString::to_string)),
        ("owner", filter.owner.as_ref().map(ToString::to_string)),
        ("target", filter.target.as_ref().map(ToString::to_string)),
        ("text", filter.text.clone()),
        ("label", filter.label.clone()),
        ("created since", filter.created_since.map(|at| at.to_string())),
        ("since", filter.since.map(|at| at.to_string())),
        ("until", filter.until.map(|at| at.to_string())),
        ("up to", filter.upto.map(|offset| offset.to_string())),
    ];
    let said = words.into_iter().filter_map(|(name, value)| Some(format!("{name} {}", value?)));
    said.collect::<Vec<_>>().join(", ")
}

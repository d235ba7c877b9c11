//! What graphs show of breakers: how shut the worst of each kind of target is.
//!
//! Names of targets come from users, and there may be as many hosts as there are; a label has few values. So a label is the kind of
//! a target, which comes from code: `host` for all hosts, `gateway` for the one that there is.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use redrive_store::BreakerRow;

/// Kinds that were shown: one that is gone shows that it is no longer shut. As there is one set of gauges in a process, there is one
/// of these.
static SHOWN: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// Sets the gauges by all the breakers there are.
pub(crate) fn show(rows: &[BreakerRow]) {
    let mut kinds: BTreeMap<&str, (f64, u64)> = BTreeMap::new();
    for row in rows {
        let (worst, open) = kinds.entry(row.target.kind()).or_default();
        let level = row.breaker.level();
        *worst = worst.max(level);
        *open += u64::from(level >= 0.5);
    }
    let mut shown = SHOWN.lock().unwrap_or_else(PoisonError::into_inner);
    for kind in kinds.keys().filter(|kind| !shown.contains(**kind)).collect::<Vec<_>>() {
        shown.insert((*kind).to_owned());
    }
    for kind in shown.iter() {
        let (worst, open) = kinds.get(kind.as_str()).copied().unwrap_or_default();
        metrics::gauge!("redrive_breaker_state", "target" => kind.clone()).set(worst);
        metrics::gauge!("redrive_breakers_open", "target" => kind.clone()).set(open as f64);
    }
}

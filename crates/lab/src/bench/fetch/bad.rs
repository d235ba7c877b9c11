//! An origin with the usual faults, by path: 5 % are busy once and say for how long, 2 % are reset once, 1 % are gone, 1 % drip.

use std::collections::HashMap;
use std::time::Duration;

use crate::origin::{Answer, Heard, Origin, body_of};

/// What a path does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// 503 with `Retry-After: 1`, once.
    Busy,
    /// A reset, once.
    Reset,
    /// 404, always.
    Gone,
    /// Its bytes take three seconds.
    Drips,
}

/// Busy paths ask for this long.
const BUSY: Duration = Duration::from_secs(1);
/// A dripping path has so many pieces, with this in between.
const PIECES: u32 = 30;
const PAUSE: Duration = Duration::from_millis(100);

/// What the n-th path does; nothing for most.
#[must_use]
pub const fn fault(n: usize) -> Option<Fault> {
    match n % 100 {
        0 | 20 | 40 | 60 | 80 => Some(Fault::Busy),
        10 | 50 => Some(Fault::Reset),
        30 => Some(Fault::Gone),
        70 => Some(Fault::Drips),
        _ => None,
    }
}

/// Tells an origin about so many paths, `/0`, `/1` and so on.
pub fn script(origin: &Origin, paths: usize) {
    for n in 0..paths {
        let path = format!("/{n}");
        match fault(n) {
            Some(Fault::Busy) => origin.once(&path, [Answer::retry_after(503, "1")]),
            Some(Fault::Reset) => origin.once(&path, [Answer::Reset]),
            Some(Fault::Gone) => origin.say(&path, [Answer::status(404)]),
            Some(Fault::Drips) => {
                let body = body_of(&path);
                let piece = body.len().div_ceil(PIECES as usize);
                origin.say(&path, [Answer::Drip(body, piece, PAUSE)]);
            }
            None => {}
        }
    }
}

/// What a client has done to so many paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Manners {
    /// Requests beyond the fewest that get everything.
    pub wasted: usize,
    /// Paths that were asked less often than it takes.
    pub missed: usize,
    /// Requests that came before `Retry-After` was over.
    pub early: usize,
    /// Further requests for what is gone.
    pub gone_again: usize,
}

/// Judges what was heard.
#[must_use]
pub fn judge(heard: &[Heard], paths: usize) -> Manners {
    let mut by_path: HashMap<&str, Vec<tokio::time::Instant>> = HashMap::new();
    for heard in heard {
        by_path.entry(&heard.request.path).or_default().push(heard.at);
    }
    let mut manners = Manners::default();
    for n in 0..paths {
        let asked = by_path.get(format!("/{n}").as_str()).map(Vec::as_slice).unwrap_or_default();
        let fault = fault(n);
        let fewest = if matches!(fault, Some(Fault::Busy | Fault::Reset)) { 2 } else { 1 };
        manners.wasted += asked.len().saturating_sub(fewest);
        manners.missed += usize::from(asked.len() < fewest);
        match (fault, asked) {
            (Some(Fault::Busy), [first, second, ..]) => {
                manners.early += usize::from(second.duration_since(*first) < BUSY);
            }
            (Some(Fault::Gone), [_, again @ ..]) => manners.gone_again += again.len(),
            _ => {}
        }
    }
    manners
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_hundred_paths_five_are_busy_two_reset_one_is_gone_and_one_drips() {
        let count = |which: Fault| (0..100).filter(|n| fault(*n) == Some(which)).count();
        assert_eq!([Fault::Busy, Fault::Reset, Fault::Gone, Fault::Drips].map(count), [5, 2, 1, 1]);
    }
}

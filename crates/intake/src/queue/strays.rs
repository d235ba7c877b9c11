//! Files in `pdf/` that are no document's: put there by hand, swapped for another while a run had it, or left when the rows were lost with
//! their database. Nobody would ever look at them again, so they go back to `queue/`.
//!
//! A run may be moving its file in this very moment, so a stray is one that two looks at some distance found the same, with no
//! document and no open move at its key.

use std::collections::{HashMap, HashSet};

use futures::TryStreamExt;
use redrive_blob::Key;
use redrive_blob::shelf::{Item, Meta, Relocated, Version, beside};
use redrive_engine::Failure;
use tokio::time::Instant;

use super::{Queue, unknown};
use crate::layout::{Place, is_wanted};

/// So many names are tried.
const NAMES: u32 = 100;
/// So many strays are remembered.
const MOST: usize = 10_000;

/// What was found, and since when.
#[derive(Debug, Default)]
pub(super) struct Strays {
    seen: HashMap<String, (Version, Instant)>,
    /// Not before this.
    next: Option<Instant>,
}

impl Queue {
    /// Looks once for each interval at most.
    pub(super) async fn bring_strays_back(&self) -> Result<(), Failure> {
        let mut strays = self.strays.lock().await;
        let now = Instant::now();
        if strays.next.is_some_and(|next| now < next) {
            return Ok(());
        }
        strays.next = Some(now + self.options.interval.min(self.options.patience));
        let mut seen = HashMap::new();
        for item in self.nobodys().await? {
            let key = item.key.as_str().to_owned();
            let since = match strays.seen.get(&key) {
                Some((version, since)) if *version == item.version => *since,
                Some(_) | None => now,
            };
            if now.duration_since(since) >= self.options.patience && !since.eq(&now) {
                self.bring_back(&item).await?;
            } else {
                seen.insert(key, (item.version, since));
            }
        }
        strays.seen = seen;
        Ok(())
    }

    /// Files that no document and no open move names. The list comes first: what a row names later was not nobody's.
    async fn nobodys(&self) -> Result<Vec<Item>, Failure> {
        let folder = Place::Pdf.key().map_err(unknown)?;
        let listed = self.mover.shelf.list(&folder);
        let items: Vec<Item> = listed
            .try_filter(|item| futures::future::ready(Place::Pdf.path_of(&item.key).is_some_and(is_wanted)))
            .try_collect()
            .await
            .map_err(|error| error.failure())?;
        if items.is_empty() {
            return Ok(items);
        }
        let (mut moving, mut after) = (HashSet::new(), 0);
        loop {
            let open = self.mover.store.open_moves(self.mover.shelf.root(), after, 200).await;
            let open = open.map_err(unknown)?;
            let Some(last) = open.last() else { break };
            after = last.number;
            moving.extend(open.into_iter().flat_map(|row| [row.from, row.to]));
        }
        let mut nobodys = Vec::new();
        for some in items.chunks(200) {
            let keys = some.iter().map(|item| item.key.as_str().to_owned()).collect();
            let known = self.mover.store.documents_at(self.mover.shelf.root(), keys).await;
            let free = some
                .iter()
                .zip(known.map_err(unknown)?)
                .filter(|(item, known)| known.is_none() && !moving.contains(item.key.as_str()));
            nobodys.extend(free.map(|(item, _)| item.clone()));
            if nobodys.len() > MOST {
                break;
            }
        }
        Ok(nobodys)
    }

    async fn bring_back(&self, item: &Item) -> Result<(), Failure> {
        let Some(path) = Place::Pdf.path_of(&item.key) else { return Ok(()) };
        let wanted = Place::Queue.of(path).map_err(unknown)?;
        for n in 1..=NAMES {
            let to: Key = if n < 2 { wanted.clone() } else { beside(&wanted, n).map_err(unknown)? };
            let moved = self.mover.shelf.relocate(&item.key, &item.version, &to, &Meta::new()).await;
            match moved.map_err(|error| error.failure())? {
                Relocated::Taken => {}
                Relocated::Done { .. } | Relocated::Overtaken { .. } => {
                    tracing::warn!(event = "intake.stray", from = %item.key, to = %to, "a file that was no document's waits again");
                    return Ok(());
                }
                Relocated::Changed { .. } | Relocated::Missing => return Ok(()),
            }
        }
        Ok(())
    }
}

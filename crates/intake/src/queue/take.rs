//! Taking files in: a row, then a job, both under the id that the file itself makes. Done twice it is done once.

use std::collections::BTreeSet;
use std::time::Duration;

use futures::{StreamExt, TryStreamExt};
use redrive_blob::ByteRange;
use redrive_blob::shelf::{Item, Meta};
use redrive_engine::model::instant;
use redrive_engine::store::intake::{DocumentChange, DocumentRow, NewDocument, Stage, TakenIn};
use redrive_engine::store::{Enqueue as Call, NewJob};
use redrive_engine::{Code, Enqueue, Failure, JobId};

use super::{Queue, unknown};
use crate::input::{Document, document_id};
use crate::layout::Place;

/// Who has no owner belongs to this one.
pub(crate) const DEFAULT_OWNER: &str = "default";
/// The metadata in which an upload says whose it is.
pub(crate) const UPLOADED_BY: &str = "uploaded-by";
/// So many files are looked at at once.
const AT_ONCE: usize = 8;
/// A PDF without its end is left for so long: it may still be on its way.
const PATIENCE: Duration = Duration::from_secs(60);
/// The end of a PDF is in its last bytes.
const TAIL: u64 = 1_024;

impl Queue {
    /// Takes some files in. Answers whether one of them was not as it was seen, so that another look is due soon.
    pub(super) async fn take(&self, items: Vec<Item>) -> Result<bool, Failure> {
        let root = self.mover.shelf.root();
        let keys = items.iter().map(|item| item.key.as_str().to_owned()).collect();
        let known = self.mover.store.documents_at(root, keys).await.map_err(unknown)?;
        let owners = self.owners().await?;
        let looks = items.into_iter().zip(known).map(|(item, known)| self.consider(item, known));
        let mut found: Vec<Option<Found>> =
            futures::stream::iter(looks).buffered(AT_ONCE).try_collect().await?;
        let otherwise = found.iter().any(|found| matches!(found, Some(Found::Otherwise)));
        let mut documents = Vec::new();
        for (item, meta) in found.drain(..).filter_map(Found::ready) {
            let Some(path) = path_of(&item) else { continue };
            let owner = owner_of(&path, &meta, &owners);
            documents.push(NewDocument {
                id: self.id_of(&item).await?,
                root: root.to_owned(),
                path,
                key: item.key.as_str().to_owned(),
                version: item.version,
                bytes: item.bytes,
                owner,
            });
        }
        let taken = self.mover.store.take_in(documents.clone()).await.map_err(unknown)?;
        let jobs: Result<Vec<NewJob>, Failure> = documents
            .iter()
            .zip(&taken)
            .filter(|(_, taken)| !matches!(taken, TakenIn::Occupied(_)))
            .map(|(document, _)| self.job(document.id, &document.path))
            .collect();
        self.hand_in(jobs?).await?;
        for document in
            documents.iter().zip(&taken).filter(|(_, taken)| **taken == TakenIn::New).map(|(d, _)| d)
        {
            tracing::info!(event = "intake.taken", job_id = %document.id, key = %document.key, uploaded_by = %document.owner);
        }
        Ok(otherwise)
    }

    /// The id that a file gets. Where a document of that id has ended the file came again, as it was: somebody put it back. Then it is
    /// the next one.
    async fn id_of(&self, item: &Item) -> Result<JobId, Failure> {
        let mut before = 0;
        loop {
            let id = document_id(self.mover.shelf.root(), item, before);
            match self.mover.store.document(id).await.map_err(unknown)? {
                Some(known) if known.stage.has_ended() => before += 1,
                Some(_) | None => return Ok(id),
            }
        }
    }

    pub(super) fn job(&self, id: JobId, path: &str) -> Result<NewJob, Failure> {
        let document = Document {
            root: self.mover.shelf.root().to_owned(),
            path: path.to_owned(),
            targets: self.options.targets.clone(),
        };
        let job = self.engine.new_job(&document, Enqueue::default().id(id));
        job.map_err(|error| Failure::new(Code::SystemInternal, error))
    }

    pub(super) async fn hand_in(&self, jobs: Vec<NewJob>) -> Result<(), Failure> {
        if jobs.is_empty() {
            return Ok(());
        }
        self.engine.hand_in(Call::jobs(jobs)).await.map(drop).map_err(unknown)
    }

    /// Looks at a file once more, now that it is to be taken.
    async fn consider(&self, item: Item, known: Option<DocumentRow>) -> Result<Option<Found>, Failure> {
        match known {
            Some(known) if known.version == item.version => return Ok(None),
            Some(known) if known.sha256.is_none() && known.retries == 0 => {
                // Replaced before anybody had read it: it is the same document, of which only this is left.
                let version = Some((item.version, item.bytes));
                let change = DocumentChange { version, ..DocumentChange::default() };
                self.mover.store.change_document(known.id, known.run, change).await.map_err(unknown)?;
                return Ok(None);
            }
            Some(known) => self.replaced(&known).await?,
            None => {}
        }
        let Some((now, meta)) = self.mover.shelf.look(&item.key).await.map_err(|error| error.failure())?
        else {
            return Ok(Some(Found::Otherwise));
        };
        if now.version != item.version || !self.is_whole(&now).await? {
            return Ok(Some(Found::Otherwise));
        }
        Ok(Some(Found::Ready(now, meta)))
    }

    /// A newer upload has the place of a document that was tried before: what it was is gone.
    async fn replaced(&self, known: &DocumentRow) -> Result<(), Failure> {
        tracing::warn!(event = "intake.replaced", job_id = %known.id, key = %known.place, "a newer file has its place");
        let failure = Some((Code::SourceChanged, "a newer upload has its place".to_owned()));
        let change = DocumentChange { stage: Some(Stage::Gone), failure, ..DocumentChange::default() };
        self.mover.store.change_document(known.id, known.run, change).await.map(drop).map_err(unknown)
    }

    /// Whether a PDF has its end. One that has none is left for a while: a copy may have stalled.
    async fn is_whole(&self, item: &Item) -> Result<bool, Failure> {
        if self.options.settle.is_zero() {
            return Ok(true);
        }
        let now = self.engine.store().now().await.map_err(unknown)?;
        if instant::between(item.modified.min(now), now) >= PATIENCE {
            return Ok(true);
        }
        let from = item.bytes.saturating_sub(TAIL);
        let range = ByteRange::From(from);
        let Ok(reading) = self.mover.shelf.blobs().read(&item.key, Some(range)).await else {
            return Ok(false);
        };
        let tail: Result<Vec<_>, _> = reading.bytes.try_collect().await;
        let tail = tail.map(|pieces| pieces.concat()).unwrap_or_default();
        Ok(tail.windows(5).any(|end| end == b"%%EOF"))
    }

    /// Owners who have an address: a folder of such a name is theirs.
    async fn owners(&self) -> Result<BTreeSet<String>, Failure> {
        let rows = self.mover.store.notifications().await.map_err(unknown)?;
        Ok(rows.into_iter().map(|row| row.owner).collect())
    }
}

/// What a second look found.
enum Found {
    /// It can be taken.
    Ready(Item, Meta),
    /// It is not what was seen, or not whole yet.
    Otherwise,
}

impl Found {
    fn ready(found: Option<Self>) -> Option<(Item, Meta)> {
        match found {
            Some(Self::Ready(item, meta)) => Some((item, meta)),
            Some(Self::Otherwise) | None => None,
        }
    }
}

fn path_of(item: &Item) -> Option<String> {
    let path = Place::Queue.path_of(&item.key).or_else(|| Place::Retry.path_of(&item.key))?;
    Some(path.to_owned())
}

/// Whose a document is: as its upload says, else as its first folder is called, else nobody's in particular.
fn owner_of(path: &str, meta: &Meta, owners: &BTreeSet<String>) -> String {
    let said =
        meta.get(UPLOADED_BY).map(|name| redrive_engine::model::text::one_line(name.trim(), 255, false));
    let folder = path.split_once('/').map(|(folder, _)| folder).filter(|folder| owners.contains(*folder));
    said.filter(|name| !name.is_empty())
        .or_else(|| folder.map(str::to_owned))
        .unwrap_or_else(|| DEFAULT_OWNER.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_is_said_or_the_first_folders_or_default() {
        let owners = BTreeSet::from(["team".to_owned()]);
        let meta = |name: &str| Meta::from([(UPLOADED_BY.to_owned(), name.to_owned())]);
        for (path, meta, owner) in [
            ("team/a.pdf", meta(" jane.doe "), "jane.doe"),
            ("team/a.pdf", meta("  "), "team"),
            ("team/sub/a.pdf", Meta::new(), "team"),
            ("other/a.pdf", Meta::new(), "default"),
            ("team", Meta::new(), "default"),
            ("a.pdf", meta("jane\u{202e}\ndoe"), "jane\u{fffd} doe"),
        ] {
            assert_eq!(owner_of(path, &meta, &owners), owner, "{path}");
        }
    }
}

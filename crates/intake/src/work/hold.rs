//! The beginning of a run: the document is held, and what the last run left open is finished.

use std::time::Duration;

use redrive_engine::store::intake::{DocumentChange, DocumentRow, Hold, Stage};
use redrive_engine::{Code, Context, Failure};
use tokio::time::Instant;

use super::{Intake, gone, overruled};
use crate::mover::Moved;

/// So long, and so often in it, it is looked whether the cleaner was there.
const MOMENT: Duration = Duration::from_secs(3);
const LOOK: Duration = Duration::from_millis(50);

impl Intake {
    /// Takes hold of the document. From now on no older attempt, and nobody who cleans up after one, moves it.
    pub(super) async fn hold(&self, ctx: &Context) -> Result<DocumentRow, Failure> {
        let (id, token) = (ctx.job(), ctx.lease().token);
        let lost = |error: redrive_engine::store::StoreError| Failure::new(error.code(), error);
        self.let_the_cleaner_pass(ctx).await?;
        let held = match self.mover.store.take_hold(id, token).await.map_err(lost)? {
            Hold::Held(held) => *held,
            Hold::Lost => return Err(overruled()),
            Hold::NotFound => return Err(gone()),
        };
        let document = match held.open {
            None => held.document,
            Some(open) => {
                if self.mover.finish(open).await.map_err(|error| error.failure())? == Some(Moved::Gone) {
                    return Err(gone());
                }
                self.mover.store.document(id).await.map_err(lost)?.ok_or_else(gone)?
            }
        };
        if document.stage == Stage::Gone {
            return Err(match document.failure {
                Some((Code::SourceChanged, why)) => Failure::new(Code::SourceChanged, why),
                Some(_) | None => gone(),
            });
        }
        if document.exceeded && document.stage != Stage::Done {
            // Somebody has started it again.
            let change = DocumentChange { exceeded: Some(false), ..DocumentChange::default() };
            self.change(ctx, change).await?;
        }
        if document.sha256.is_some() || document.stage == Stage::Done {
            return Ok(document);
        }
        // Nobody has read it yet: whatever lies there now is the document.
        let key = redrive_blob::Key::parse(&document.place).map_err(|_| gone())?;
        let found = self.mover.shelf.look(&key).await.map_err(|error| error.failure())?;
        match found {
            Some((item, _)) if item.version != document.version => {
                let version = Some((item.version.clone(), item.bytes));
                self.change(ctx, DocumentChange { version, ..DocumentChange::default() }).await?;
                Ok(DocumentRow { version: item.version, bytes: item.bytes, ..document })
            }
            Some(_) => Ok(document),
            None => Err(gone()),
        }
    }

    /// A run that follows a failed one at once gives the cleaner a moment, so that folders and log tell of each step. It does not
    /// wait for one that is away.
    async fn let_the_cleaner_pass(&self, ctx: &Context) -> Result<(), Failure> {
        let end = Instant::now() + MOMENT;
        while Instant::now() < end {
            let document = self.mover.store.document(ctx.job()).await;
            let document = document.map_err(|error| Failure::new(error.code(), error))?;
            let dirty = document.is_some_and(|row| {
                row.stage == Stage::Processing && row.run.0 > 0 && row.run < ctx.lease().token
            });
            if !dirty {
                break;
            }
            tokio::time::sleep(LOOK).await;
        }
        Ok(())
    }
}

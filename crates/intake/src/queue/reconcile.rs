//! Before each look everything that a crash may have left is put right: open moves, rows without a job, rows whose job has ended, and files
//! in `pdf/` that are nobody's.
//!
//! What is in flight is counted from rows, so a row that nobody would ever end would take a place for ever.

use redrive_engine::model::{LeaseToken, State, instant};
use redrive_engine::store::JobRow;
use redrive_engine::store::intake::{DocumentChange, DocumentRow, Stage};
use redrive_engine::{Code, Failure};

use super::{Queue, unknown};
use crate::layout::Place;
use crate::mover::{Goal, Moved};

/// So many rows at once.
const AT_ONCE: usize = 200;

impl Queue {
    /// Puts right what can be; what cannot stays for the next look.
    pub(super) async fn reconcile(&self) -> Result<(), Failure> {
        let finished = self.mover.reconcile().await.map_err(|error| error.failure())?;
        if finished > 0 {
            tracing::info!(event = "intake.moves_finished", moves = finished);
        }
        self.put_rows_right().await?;
        self.bring_strays_back().await
    }

    /// Rows that wait or run, and whose job is not there, or has ended and was not heard of.
    async fn put_rows_right(&self) -> Result<(), Failure> {
        let now = self.engine.store().now().await.map_err(unknown)?;
        let ended = instant::before(now, self.options.patience);
        let (root, mut after) = (self.mover.shelf.root(), None);
        loop {
            let rows = self.mover.store.astray(root, ended, after, AT_ONCE).await.map_err(unknown)?;
            let Some(last) = rows.last() else { return Ok(()) };
            after = Some(last.id);
            let mut jobs = Vec::new();
            for row in &rows {
                match self.engine.store().job(row.id).await.map_err(unknown)? {
                    // A process ended between the row and its job.
                    None => jobs.push(self.job(row.id, &row.path)?),
                    Some(job) => self.end_row(row, &job).await?,
                }
            }
            self.hand_in(jobs).await?;
        }
    }

    /// The job ended, and whoever should have cleaned up has not: its word was lost, or set aside.
    async fn end_row(&self, row: &DocumentRow, job: &JobRow) -> Result<(), Failure> {
        let (to, stage) = match job.state {
            State::Complete => (Place::Result, Stage::Done),
            State::Failed | State::Cancelled => (Place::Failed, Stage::Failed),
            State::Queued | State::Processing => return Ok(()),
        };
        tracing::warn!(event = "intake.put_right", job_id = %row.id, stage = stage.as_str(), "its job has ended");
        let token = LeaseToken(row.run.0.max(job.token.0));
        let to = to.of(&row.path).map_err(|error| Failure::new(Code::SystemInternal, error))?;
        let goal = Goal { document: row.id, token, to, why: "put right", meta: Default::default() };
        match self.mover.bring(goal).await {
            Ok(Moved::To(_)) => {}
            // Its row says so by now, or somebody has it.
            Ok(Moved::Overruled | Moved::Gone) => return Ok(()),
            Err(error) => {
                tracing::warn!(event = "intake.move_left", job_id = %row.id, "{error}");
                return Ok(());
            }
        }
        let failure = job.failure_code.map(|code| (code, job.failure_message.clone().unwrap_or_default()));
        let change = DocumentChange { stage: Some(stage), failure, ..DocumentChange::default() };
        self.mover.store.change_document(row.id, token, change).await.map(drop).map_err(unknown)
    }
}

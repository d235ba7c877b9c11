//! The documents of intake and the reports about them, for operators alone.

use redrive_blob::{BlobError, Key, Reading};
use redrive_engine::Input;
use redrive_intake::Analyse;
use redrive_model::{Code, JobId};
use redrive_store::intake::{DocumentFilter, DocumentRow, MoveRow};
use redrive_store::{JobRow, Page, PageRequest};

use super::Desk;
use crate::operator::Operator;
use crate::refusal::Refusal;

impl Desk {
    /// A page of documents of this place.
    pub(crate) async fn documents(
        &self,
        _: Operator,
        filter: DocumentFilter,
        page: PageRequest,
    ) -> Result<Page<DocumentRow>, Refusal> {
        let parts = self.intake()?;
        let filter = DocumentFilter { root: parts.root.clone(), ..filter };
        Ok(parts.store.documents(filter, page).await?)
    }

    /// One of them.
    pub(crate) async fn document(&self, _: Operator, id: JobId) -> Result<Option<DocumentRow>, Refusal> {
        Ok(self.intake()?.store.document(id).await?)
    }

    /// Where its PDF went.
    pub(crate) async fn moves_of(&self, _: Operator, id: JobId) -> Result<Vec<MoveRow>, Refusal> {
        Ok(self.intake()?.store.moves_of(id).await?)
    }

    /// Asks for a report about a document. Answers the job that writes it; nothing when there is no such document. One that never
    /// failed is refused: there is nothing to explain.
    pub(crate) async fn report_on(&self, operator: Operator, id: JobId) -> Result<Option<JobId>, Refusal> {
        let Some(document) = self.intake()?.store.document(id).await? else { return Ok(None) };
        if document.failure.is_none() {
            let text = "This document has not failed, so there is nothing to report.";
            return Err(Refusal::new(Code::ConflictState, text));
        }
        let generation = self.engine.job(id).await?.map_or(1, |job| job.generation);
        let analyse = Analyse { document: id, generation, path: document.path };
        let subject = format!("document {id}");
        let act = self.engine.enqueue(&analyse);
        let by = operator.by(None);
        Ok(Some(self.engine.acted(&by, "intake.report", subject, act, |job| format!("job {job}")).await?))
    }

    /// The job that writes a report; nothing when it is gone or does something else.
    pub(crate) async fn report_job(&self, _: Operator, id: JobId) -> Result<Option<JobRow>, Refusal> {
        let job = self.engine.store().job(id).await?;
        Ok(job.filter(|job| job.workload.as_str() == Analyse::WORKLOAD))
    }

    /// The newest report about a document, open, with its name. Nothing when none was written, it was taken away, or it lies in a
    /// place that this server does not know.
    pub(crate) async fn report_of(
        &self,
        _: Operator,
        id: JobId,
    ) -> Result<Option<(String, Reading)>, Refusal> {
        let parts = self.intake()?;
        let row = parts.store.document(id).await?.filter(|row| row.root == parts.root);
        let Some(Ok(key)) = row.and_then(|row| row.report).map(|key| Key::parse(&key)) else {
            return Ok(None);
        };
        let name = key.as_str().rsplit('/').next().unwrap_or_default().to_owned();
        match parts.place.read(&key, None).await {
            Ok(reading) => Ok(Some((name, reading))),
            Err(BlobError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

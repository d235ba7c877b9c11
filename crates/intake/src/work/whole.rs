//! A PDF that goes through the gateway as a whole.

use redrive_blob::Key;
use redrive_engine::store::intake::{DocumentChange, DocumentRow};
use redrive_engine::{Code, Context, Failure};
use redrive_gateway_client::{Ask, Outgoing, blame, receive, storage};

use super::ways::Made;
use super::{Intake, gone};
use crate::seen::Seen;

impl Intake {
    /// Sends the PDF, and checks on the way that it is the one it was.
    pub(super) async fn convert(
        &self,
        ctx: &Context,
        document: &DocumentRow,
        pdf: &Key,
        mapping: &str,
    ) -> Result<Made, Failure> {
        let (outgoing, seen) = self.read(pdf).await?;
        let key = ctx.idempotency_key();
        let ask = Ask { mapping, pages: None, idempotency_key: &key };
        let began = tokio::time::Instant::now();
        let answered = self.gateway.process(outgoing, ask).await;
        metrics::histogram!("redrive_gateway_latency_seconds").record(began.elapsed().as_secs_f64());
        // Also when it was refused: whoever runs it again must find the same bytes.
        self.same(ctx, document, &seen).await?;
        let answer = answered.map_err(blame)?;
        let (pages, warnings) = (answer.pages(), answer.warnings());
        let upload = self.mover.shelf.blobs().begin(self.options.max_result).await;
        let sealed = receive(answer, upload.map_err(|error| storage(&error))?).await?;
        Ok(Made::xml(sealed, pages, warnings))
    }

    /// Opens the PDF; what is read is hashed on its way.
    pub(super) async fn read(&self, pdf: &Key) -> Result<(Outgoing, Seen), Failure> {
        let open = self.mover.shelf.open(pdf).await.map_err(|error| match error {
            redrive_blob::BlobError::NotFound { .. } => gone(),
            error => error.failure(),
        })?;
        Ok(Seen::on(open))
    }

    /// Notes the hash of what was read for the first time; later it must be the same. What was not read to its end tells nothing.
    pub(super) async fn same(
        &self,
        ctx: &Context,
        document: &DocumentRow,
        seen: &Seen,
    ) -> Result<(), Failure> {
        let Some(hash) = seen.hash() else { return Ok(()) };
        match &document.sha256 {
            Some(known) if *known == hash => Ok(()),
            Some(_) => {
                let text =
                    "another file has its place: its hash is not the one that was noted at the first run";
                Err(Failure::new(Code::SourceChanged, text))
            }
            None => {
                self.change(ctx, DocumentChange { sha256: Some(hash), ..DocumentChange::default() }).await
            }
        }
    }

    /// What the gateway is to make.
    pub(super) async fn mapping(&self) -> Result<String, Failure> {
        if let Some(mapping) = &self.options.mapping {
            return Ok(mapping.clone());
        }
        let mappings = self.gateway.mappings().await.map_err(blame)?;
        let first = mappings.into_iter().next().map(|mapping| mapping.name);
        first.ok_or_else(|| blame(Failure::new(Code::GwBadResponse, "the gateway has no mapping")))
    }
}

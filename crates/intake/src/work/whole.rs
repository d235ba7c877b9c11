//! A PDF that goes through the gateway as a whole.

use std::sync::{Arc, Mutex, PoisonError};

use futures::TryStreamExt;
use redrive_blob::{Hashing, Key, Sealed};
use redrive_engine::store::intake::{DocumentChange, DocumentRow};
use redrive_engine::{Code, Context, Failure};
use redrive_gateway_client::{Ask, Outgoing, blame, receive, storage};

use super::{Intake, gone};

/// What a run made, before it has its name.
pub(super) struct Made {
    /// The file.
    pub(super) sealed: Sealed,
    /// The ending of its name.
    pub(super) ending: &'static str,
    /// Pages, where the gateway said.
    pub(super) pages: Option<u32>,
    /// What the gateway warned of.
    pub(super) warnings: Vec<String>,
}

impl Intake {
    /// Sends the PDF, and checks on the way that it is the one it was.
    pub(super) async fn convert(
        &self,
        ctx: &Context,
        document: &DocumentRow,
        pdf: &Key,
    ) -> Result<Made, Failure> {
        let mapping = self.mapping().await?;
        let (outgoing, seen) = self.read(pdf).await?;
        let key = ctx.idempotency_key();
        let ask = Ask { mapping: &mapping, pages: None, idempotency_key: &key };
        let began = tokio::time::Instant::now();
        let answered = self.gateway.process(outgoing, ask).await;
        metrics::histogram!("redrive_gateway_latency_seconds").record(began.elapsed().as_secs_f64());
        // Also when it was refused: whoever runs it again must find the same bytes.
        self.same(ctx, document, &seen).await?;
        let answer = answered.map_err(blame)?;
        let (pages, warnings) = (answer.pages(), answer.warnings());
        let upload = self.mover.shelf.blobs().begin(self.options.max_result).await;
        let sealed = receive(answer, upload.map_err(|error| storage(&error))?).await?;
        Ok(Made { sealed, ending: "xml", pages, warnings })
    }

    /// Opens the PDF; what is read is hashed on its way.
    pub(super) async fn read(&self, pdf: &Key) -> Result<(Outgoing, Seen), Failure> {
        let open = self.mover.shelf.open(pdf).await.map_err(|error| match error {
            redrive_blob::BlobError::NotFound { .. } => gone(),
            error => error.failure(),
        })?;
        let Outgoing { length, bytes } = open.into();
        let seen = Seen { length, hashing: Arc::default() };
        let note = seen.clone();
        let bytes = bytes.inspect_ok(move |piece| note.update(piece));
        Ok((Outgoing { length, bytes: Box::pin(bytes) }, seen))
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
    async fn mapping(&self) -> Result<String, Failure> {
        if let Some(mapping) = &self.options.mapping {
            return Ok(mapping.clone());
        }
        let mappings = self.gateway.mappings().await.map_err(blame)?;
        let first = mappings.into_iter().next().map(|mapping| mapping.name);
        first.ok_or_else(|| blame(Failure::new(Code::GwBadResponse, "the gateway has no mapping")))
    }
}

/// The hash of what has passed, of so many bytes.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    length: u64,
    hashing: Arc<Mutex<Hashing>>,
}

impl Seen {
    fn update(&self, piece: &[u8]) {
        self.hashing.lock().unwrap_or_else(PoisonError::into_inner).update(piece);
    }

    /// The hash in hexadecimal, once everything has passed.
    fn hash(&self) -> Option<String> {
        let hashing = self.hashing.lock().unwrap_or_else(PoisonError::into_inner).clone();
        (hashing.bytes() == self.length).then(|| hashing.end().to_string())
    }
}

//! One attempt: the PDF to the gateway, its answer to a file.

use std::sync::Arc;

use redrive_blob::{BlobError, Blobs};
use redrive_engine::{Code, Context, Done, Failure, Policy, Workload};
use redrive_gateway_client::{Ask, Gateway, blame, receive, storage};

use crate::input::{Pdf, result_key};
use crate::made::Made;

/// How conversions are run.
#[derive(Debug, Clone)]
pub struct ConvertOptions {
    /// What is done when one fails.
    pub policy: Policy,
    /// So many at once in this process.
    pub concurrency: usize,
    /// The largest result.
    pub max_result: u64,
}

/// The workload.
#[derive(Debug, Clone)]
pub struct Convert {
    gateway: Gateway,
    sources: Arc<dyn Blobs>,
    results: Arc<dyn Blobs>,
    options: ConvertOptions,
}

impl Convert {
    /// Conversions by this gateway, between these places.
    #[must_use]
    pub fn new(
        gateway: Gateway,
        sources: Arc<dyn Blobs>,
        results: Arc<dyn Blobs>,
        options: ConvertOptions,
    ) -> Self {
        Self { gateway, sources, results, options }
    }

    async fn convert(&self, ctx: &Context, pdf: &Pdf) -> Result<Made, Failure> {
        let source = pdf.source().map_err(|error| Failure::new(Code::SystemUndecodable, error))?;
        let reading = self.sources.read(&source, None).await.map_err(|error| gone(&error))?;
        let key = ctx.idempotency_key();
        let ask = Ask { mapping: &pdf.mapping, pages: None, idempotency_key: &key };
        let began = tokio::time::Instant::now();
        let answered = self.gateway.process(reading, ask).await;
        metrics::histogram!("redrive_gateway_latency_seconds").record(began.elapsed().as_secs_f64());
        let answer = answered.map_err(blame)?;
        let (pages, warnings) = (answer.pages(), answer.warnings());
        let upload = self.results.begin(self.options.max_result).await.map_err(|error| storage(&error))?;
        let mut sealed = receive(answer, upload).await?;
        let place = result_key(ctx.job(), ctx.lease().token.0)
            .map_err(|error| Failure::new(Code::SystemInternal, error))?;
        let made = Made {
            key: place.as_str().to_owned(),
            sha256: sealed.sha256().to_string(),
            bytes: sealed.bytes(),
            pages,
            warnings,
        };
        // The note first: a file that was named and not noted would be made again.
        if self.results.lasts() {
            ctx.save_state(&made).await?;
        }
        sealed.finish(&place).await.map_err(|error| storage(&error))?;
        Ok(made)
    }
}

impl Workload for Convert {
    type Input = Pdf;

    fn policy(&self) -> Policy {
        self.options.policy.clone()
    }

    fn concurrency(&self) -> usize {
        self.options.concurrency
    }

    async fn source(&self, pdf: &Pdf) -> Result<(), Failure> {
        let key = pdf.source().map_err(|error| Failure::new(Code::SystemUndecodable, error))?;
        self.sources.head(&key).await.map(drop).map_err(|error| gone(&error))
    }

    async fn run(&self, ctx: Context, pdf: Pdf) -> Result<Done, Failure> {
        let noted = ctx.state::<Made>()?;
        let made = match noted {
            Some(made) if made.still_stands(&*self.results).await => {
                tracing::info!(event = "result.adopted", job_id = %ctx.job(), key = %made.key);
                made
            }
            Some(_) | None => {
                let cancelled = ctx.cancellation();
                tokio::select! {
                    made = self.convert(&ctx, &pdf) => made?,
                    () = cancelled.cancelled() => {
                        return Err(Failure::new(Code::Unknown, "the attempt was told to end"));
                    }
                }
            }
        };
        ctx.set_result(made.reference());
        Ok(Done::Complete)
    }
}

/// A source that is not there was removed: no retry brings it back.
fn gone(error: &BlobError) -> Failure {
    match error {
        BlobError::NotFound { .. } => Failure::new(Code::SourceMissing, error),
        error => storage(error),
    }
}

//! One attempt: the PDF to the gateway, its answer to a file.

use std::io::{self, BufRead, Read};
use std::sync::Arc;

use bytes::{Buf, Bytes, BytesMut};
use redrive_blob::{BlobError, Blobs, Sealed, Upload};
use redrive_engine::{Code, Context, Done, Failure, Policy, Target, Workload};
use tokio::sync::mpsc;

use crate::check::{CheckError, check, check_whole};
use crate::gateway::{Answer, Ask, Gateway};
use crate::input::{Pdf, TARGET, result_key};
use crate::made::Made;

/// Pieces of an answer that wait for the check.
const WAITING: usize = 8;
/// An answer of up to this size is read whole before it is checked.
const SMALL: usize = 64 << 10;

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
        let mut sealed = self.receive(answer).await?;
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

    /// Writes the answer to a file that has no name yet, and reads it as XML on the way.
    async fn receive(&self, mut answer: Answer) -> Result<Sealed, Failure> {
        let mut upload = self.results.begin(self.options.max_result).await.map_err(|e| storage(&e))?;
        let mut small = BytesMut::new();
        let rest = loop {
            let Some(piece) = answer.chunk().await.map_err(blame)? else { break None };
            if small.len() + piece.len() > SMALL {
                break Some(piece);
            }
            small.extend_from_slice(&piece);
        };
        let small = small.freeze();
        upload.write(small.clone()).await.map_err(|error| storage(&error))?;
        match rest {
            // All of it is here: reading it takes less than a hop to another thread and back.
            None => check_whole(&small).map_err(refused)?,
            Some(piece) => on_its_way(small, piece, answer, &mut upload).await?,
        }
        upload.seal().await.map_err(|error| storage(&error))
    }
}

/// Checks an answer on a thread of its own while it comes.
async fn on_its_way(
    first: Bytes,
    mut piece: Bytes,
    mut answer: Answer,
    upload: &mut Upload,
) -> Result<(), Failure> {
    let (sender, receiver) = mpsc::channel(WAITING);
    let checking = tokio::task::spawn_blocking(move || check(Pieces { receiver, piece: first }));
    loop {
        upload.write(piece.clone()).await.map_err(|error| storage(&error))?;
        if sender.send(piece).await.is_err() {
            // The check has seen enough.
            break;
        }
        match answer.chunk().await.map_err(blame)? {
            Some(next) => piece = next,
            None => break,
        }
    }
    drop(sender);
    match checking.await {
        Ok(checked) => checked.map_err(refused),
        Err(error) => Err(Failure::new(Code::SystemInternal, error)),
    }
}

/// What came is no XML document.
fn refused(error: CheckError) -> Failure {
    let code = match error {
        CheckError::BreaksOff | CheckError::Empty => Code::GwTruncated,
        CheckError::Other(_) => Code::GwBadResponse,
    };
    blame(Failure::new(code, format!("the gateway's answer: {error}")).status(200))
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

/// A place that fails is one thing for whoever wants a file converted, whatever its reason; operators read the reason in the
/// message. A full disk, and a bucket that is away or asks for time, are told apart: other rules hold for them.
fn storage(error: &BlobError) -> Failure {
    match error {
        BlobError::Full | BlobError::Throttled { .. } | BlobError::Unavailable { .. } => error.failure(),
        // There is no room for results, wherever they go.
        BlobError::BucketFull { .. } => Failure { code: Code::DiskFull, ..error.failure() },
        error => Failure { code: Code::IoError, ..error.failure() },
    }
}

/// The gateway's fault, not that of another target the job may have.
fn blame(failure: Failure) -> Failure {
    match Target::new(TARGET) {
        Ok(gateway) => failure.at(gateway),
        Err(_) => failure,
    }
}

/// Pieces as they come, as something that a parser on a thread of its own can read.
struct Pieces {
    receiver: mpsc::Receiver<Bytes>,
    piece: Bytes,
}

impl Read for Pieces {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let ready = self.fill_buf()?;
        let n = ready.len().min(into.len());
        if let (Some(from), Some(to)) = (ready.get(..n), into.get_mut(..n)) {
            to.copy_from_slice(from);
        }
        self.consume(n);
        Ok(n)
    }
}

impl BufRead for Pieces {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        while self.piece.is_empty() {
            match self.receiver.blocking_recv() {
                Some(piece) => self.piece = piece,
                None => break,
            }
        }
        Ok(&self.piece)
    }

    fn consume(&mut self, n: usize) {
        self.piece.advance(n);
    }
}

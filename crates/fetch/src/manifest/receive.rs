//! Reading a manifest: decoded, cut, judged and written down as it comes, with a few chunks in memory.

use bytes::Bytes;
use futures::{Stream, StreamExt};
use redrive_blob::BlobError;
use redrive_engine::{BatchId, Code, Failure};

use super::gunzip::Gunzip;
use super::judge::Judge;
use super::lines::Lines;
use super::problem::ManifestProblem;
use super::stage::Stage;
use super::{AcceptError, Accepted, Format, Handing, Manifests, Received, Shape};

/// So much of an unpacked body is judged between two writes.
const PIECE: usize = 64 * 1_024;

impl Manifests {
    /// Takes a manifest in: reads it to its end, and hands it in.
    pub async fn accept<S, E>(&self, body: S, shape: Shape, how: Handing) -> Result<Accepted, AcceptError<E>>
    where
        S: Stream<Item = Result<Bytes, E>> + Send,
        E: Send,
    {
        let received = self.receive(body, shape, &how).await?;
        self.commit(received, how).await
    }

    /// Reads a manifest to its end, or as far as it takes to refuse it. Whoever drops this leaves nothing behind.
    pub async fn receive<S, E>(
        &self,
        body: S,
        shape: Shape,
        how: &Handing,
    ) -> Result<Received, AcceptError<E>>
    where
        S: Stream<Item = Result<Bytes, E>> + Send,
        E: Send,
    {
        let batch = how.batch.unwrap_or_else(|| BatchId::from_uuid(self.engine.new_id().as_uuid()));
        let limits = &self.options().limits;
        let mut reading = Reading::new(self, batch, shape);
        let mut encoded = 0_u64;
        let mut body = std::pin::pin!(body);
        while let Some(chunk) = body.next().await {
            let chunk = chunk.map_err(AcceptError::Body)?;
            let within = within(&chunk, limits.encoded_bytes, &mut encoded);
            let size = if shape.gzip { Gunzip::PIECE } else { PIECE };
            for piece in within.chunks(size) {
                reading.piece(piece).await.map_err(unavailable)?;
                if !reading.judge.goes_on() {
                    break;
                }
            }
            if within.len() < chunk.len() {
                reading.judge.end_with(too_large("the body", limits.encoded_bytes));
            }
            if !reading.judge.goes_on() {
                break;
            }
        }
        reading.end().await.map_err(unavailable)?;
        let Reading { judge, stage, .. } = reading;
        let judged = judge.end().map_err(AcceptError::Refused)?;
        let staged = stage.seal().await.map_err(unavailable)?;
        Ok(Received { batch, head: judged.head, common: judged.common, count: judged.count, encoded, staged })
    }
}

/// A place that could not take the bytes.
pub(super) fn unavailable<E>(error: BlobError) -> AcceptError<E> {
    AcceptError::Unavailable(Failure { code: Code::StorageUnavailable, ..error.failure() })
}

/// What of these bytes lies within the limit: it is judged first, so that a refusal does not depend on how the bytes came.
fn within<'b>(bytes: &'b [u8], limit: u64, seen: &mut u64) -> &'b [u8] {
    let room = usize::try_from(limit.saturating_sub(*seen)).unwrap_or(usize::MAX);
    *seen = seen.saturating_add(bytes.len() as u64);
    bytes.get(..room).unwrap_or(bytes)
}

fn too_large(what: &str, limit: u64) -> ManifestProblem {
    let reason = format!("{what} is larger than {limit} bytes");
    ManifestProblem::whole(Code::ValidationTooLarge, reason)
}

/// Where the reading is.
struct Reading<'a> {
    manifests: &'a Manifests,
    judge: Judge<'a>,
    stage: Stage,
    gunzip: Option<Gunzip>,
    form: Form,
    decoded: u64,
}

/// What is not judged yet.
enum Form {
    Lines(Lines),
    Document(Vec<u8>),
}

impl<'a> Reading<'a> {
    fn new(manifests: &'a Manifests, batch: BatchId, shape: Shape) -> Self {
        let form = match shape.format {
            Format::Ndjson => Form::Lines(Lines::default()),
            Format::Json => Form::Document(Vec::new()),
        };
        Self {
            manifests,
            judge: Judge::new(manifests.options(), batch),
            stage: Stage::Held(Vec::new()),
            gunzip: shape.gzip.then(Gunzip::new),
            form,
            decoded: 0,
        }
    }

    async fn piece(&mut self, piece: &[u8]) -> Result<(), BlobError> {
        match self.gunzip.as_mut().map(|gunzip| gunzip.push(piece)) {
            None => self.judge(piece),
            Some(Ok(unpacked)) => self.judge(&unpacked),
            Some(Err(problem)) => self.judge.end_with(problem),
        }
        self.write().await
    }

    fn judge(&mut self, bytes: &[u8]) {
        let limit = self.manifests.options().limits.decoded_bytes;
        let within = within(bytes, limit, &mut self.decoded);
        self.take(within);
        if within.len() < bytes.len() {
            self.judge.end_with(too_large("the unpacked body", limit));
        }
    }

    fn take(&mut self, bytes: &[u8]) {
        let limits = &self.manifests.options().limits;
        match &mut self.form {
            Form::Document(document) if document.len() + bytes.len() > limits.json_bytes => {
                let mut problem = too_large("a JSON document", limits.json_bytes as u64);
                problem.reason.push_str(": send more as NDJSON, one resource a line");
                self.judge.end_with(problem);
            }
            Form::Document(document) => document.extend_from_slice(bytes),
            Form::Lines(lines) => {
                lines.push(bytes);
                while let Some((number, line)) = lines.next() {
                    self.judge.line(number, &line);
                    if !self.judge.goes_on() {
                        return;
                    }
                }
                let (number, waiting) = lines.waiting();
                if waiting > limits.line_bytes {
                    self.judge.too_long(number);
                }
            }
        }
    }

    async fn write(&mut self) -> Result<(), BlobError> {
        let bytes = self.judge.take();
        if bytes.is_empty() {
            return Ok(());
        }
        let limits = &self.manifests.options().limits;
        let count = usize::try_from(self.judge.count()).unwrap_or(usize::MAX);
        let hold = count <= limits.held_resources && self.stage.held() + bytes.len() <= limits.held_bytes;
        let stage = std::mem::replace(&mut self.stage, Stage::Held(Vec::new()));
        self.stage = stage.write(&*self.manifests.blobs, self.manifests.tries(), bytes, hold).await?;
        Ok(())
    }

    /// The body has ended: what is left is judged.
    async fn end(&mut self) -> Result<(), BlobError> {
        if !self.judge.goes_on() {
            return Ok(());
        }
        match self.gunzip.as_mut().map(Gunzip::end) {
            None => {}
            Some(Ok(unpacked)) => self.judge(&unpacked),
            Some(Err(problem)) => self.judge.end_with(problem),
        }
        match &mut self.form {
            _ if !self.judge.goes_on() => {}
            Form::Lines(lines) => {
                if let Some((number, line)) = lines.last() {
                    self.judge.line(number, &line);
                }
            }
            Form::Document(document) => {
                let document = std::mem::take(document);
                self.judge.document(&document);
            }
        }
        self.write().await
    }
}

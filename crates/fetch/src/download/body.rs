//! The bytes of an answer into the upload: as they come, under every limit.

use std::pin::Pin;

use http_body_util::BodyExt;
use hyper::body::{Body as _, Incoming};
use redrive_blob::{BlobError, Upload};
use redrive_engine::{Code, Failure};
use tokio::time::Instant;
use tokio_util::sync::WaitForCancellationFuture;

use super::Inner;
use super::head::Head;
use super::note::{Note, Notes};
use super::pace::Pace;
use super::trouble::Trouble;

/// One body on its way.
pub(super) struct Receiving<'a> {
    pub(super) inner: &'a Inner,
    pub(super) head: &'a Head,
    pub(super) notes: &'a dyn Notes,
    pub(super) until: Instant,
    /// So many bytes come; what is short of it was cut.
    pub(super) coming: Option<u64>,
}

impl Receiving<'_> {
    /// Reads to the end. On trouble the upload has what came before it.
    pub(super) async fn receive(
        &self,
        body: &mut Incoming,
        upload: &mut Upload,
        mut stop: Pin<&mut WaitForCancellationFuture<'_>>,
    ) -> Result<(), Trouble> {
        let options = &self.inner.options;
        let mut pace = Pace::new(options.min_speed, options.slow_after);
        let began = upload.bytes();
        let mut noted = began;
        loop {
            let now = Instant::now();
            // An origin that is faster than our disk always has a frame ready: nothing else would look at the time.
            if now >= self.until && !body.is_end_stream() {
                return Err(Trouble::Deadline(options.deadline));
            }
            let within = pace.until(now).map_or(self.until, |at| at.min(self.until));
            let frame = tokio::select! {
                biased;
                () = &mut stop => return Err(stopped()),
                frame = body.frame() => Some(frame),
                () = tokio::time::sleep_until(within) => None,
            };
            let waited = now.elapsed();
            let data = match frame {
                Some(Some(Ok(frame))) => frame.into_data().unwrap_or_default(),
                Some(None) => return self.ended(upload, began),
                Some(Some(Err(_))) => return Err(self.cut(upload)),
                None if Instant::now() >= self.until => return Err(Trouble::Deadline(options.deadline)),
                None => Default::default(),
            };
            if !pace.came(data.len(), waited) {
                return Err(Trouble::TooSlow(options.min_speed));
            }
            if !data.is_empty() {
                upload.write(data).await.map_err(|error| self.stored(error))?;
            }
            if upload.bytes() - noted >= options.note_every && self.head.etag.is_some() {
                noted = upload.bytes();
                let mark = upload.mark().await.map_err(Trouble::Store)?;
                let note = Note { mark, head: self.head.clone(), whole: false };
                self.notes.note(&note).await.map_err(Trouble::Stopped)?;
            }
        }
    }

    /// The body says that it is whole; the head may know better.
    fn ended(&self, upload: &Upload, began: u64) -> Result<(), Trouble> {
        let short = self.coming.is_some_and(|coming| upload.bytes() - began != coming);
        let part = self.head.total.is_some_and(|total| upload.bytes() != total);
        if short || part { Err(self.cut(upload)) } else { Ok(()) }
    }

    fn cut(&self, upload: &Upload) -> Trouble {
        Trouble::Cut { got: upload.bytes(), of: self.head.total }
    }

    fn stored(&self, error: BlobError) -> Trouble {
        match error {
            BlobError::TooLarge { limit } => Trouble::TooLarge(limit),
            error => Trouble::Store(error),
        }
    }
}

/// The engine knows why, and records that in place of this.
pub(super) fn stopped() -> Trouble {
    Trouble::Stopped(Failure::new(Code::Unknown, "the attempt was told to end"))
}

//! Handing in a file: it streams from the disk, and is never held whole.

use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use reqwest::multipart::{Form, Part};
use reqwest::{Body, Method};
use tokio::sync::mpsc;

use super::{Client, Result, read};
use crate::UploadReply;

/// Of so many bytes.
const PIECE: usize = 256 << 10;
/// An upload and its answer take no longer than this.
const LONG: Duration = Duration::from_secs(3_600);

impl Client {
    /// Hands in the file, with the server's first mapping unless said. The same file again is the same job.
    pub async fn upload(&self, file: &Path, mapping: Option<&str>) -> Result<UploadReply> {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let opened = std::fs::File::open(file)?;
        let length = opened.metadata()?.len();
        let part = Part::stream_with_length(stream(opened), length).file_name(name);
        let mut form = Form::new();
        // Before the file: a mapping that nobody knows is refused before anything is sent.
        if let Some(mapping) = mapping {
            form = form.text("mapping", mapping.to_owned());
        }
        let request = self.request(Method::POST, &["api", "upload"]).multipart(form.part("file", part));
        read(self.send(request.timeout(LONG)).await?).await
    }
}

/// The bytes of a file, read by a thread of their own, a few pieces ahead.
pub(super) fn stream(mut file: std::fs::File) -> Body {
    let (send, receive) = mpsc::channel::<std::io::Result<Bytes>>(2);
    tokio::task::spawn_blocking(move || {
        use std::io::Read;
        loop {
            let mut piece = vec![0; PIECE];
            let read = file.read(&mut piece).map(|count| {
                piece.truncate(count);
                Bytes::from(piece)
            });
            let last = !matches!(&read, Ok(piece) if !piece.is_empty());
            if matches!(&read, Ok(piece) if piece.is_empty()) || send.blocking_send(read).is_err() || last {
                return;
            }
        }
    });
    Body::wrap_stream(futures::stream::unfold(receive, |mut receive| async move {
        receive.recv().await.map(|piece| (piece, receive))
    }))
}

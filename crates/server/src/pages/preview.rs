//! The beginning of a result, for eyes: only of one whose every byte is what was stored.

use futures::TryStreamExt;
use maud::{Markup, html};
use redrive_blob::BlobsExt;

use super::words::bytes;
use crate::app::App;
use crate::download::artifact;
use crate::own::Owned;

/// So much is shown.
const SHOWN: usize = 4 * 1024;
/// Looking costs reading all of it: larger ones are for downloading.
const LARGEST: u64 = 8 << 20;

/// The preview, where there is a result. What cannot be read is told by the download.
pub(super) async fn preview(app: &App, job: &Owned) -> Markup {
    let Ok((key, hash, size)) = artifact(job) else { return html! {} };
    if size > LARGEST {
        return html! {
            h2 { "XML" }
            p { "The result has " (bytes(size)) ", which is too much to be shown here. Download it." }
        };
    }
    let Some(head) = beginning(app, &key, hash).await else {
        return html! {
            h2 { "XML" }
            p { "The result cannot be read just now." }
        };
    };
    let whole = head.len() as u64 >= size;
    html! {
        h2 { "XML" }
        p.fine {
            (bytes(size))
            @if !whole { ", of which you see the first " (bytes(head.len() as u64)) }
        }
        pre.xml tabindex="0" aria-label="The beginning of the XML" { (head) @if !whole { "\n…" } }
    }
}

/// The first characters. The whole file is read: nothing is shown of one that is not what was stored.
async fn beginning(app: &App, key: &redrive_blob::Key, hash: redrive_blob::Sha256) -> Option<String> {
    let mut stream = app.results().read_verified(key, hash).await.ok()?.bytes;
    let mut head = Vec::new();
    while let Some(chunk) = stream.try_next().await.ok()? {
        let room = SHOWN.saturating_sub(head.len()).min(chunk.len());
        head.extend_from_slice(chunk.get(..room).unwrap_or_default());
    }
    let whole_characters = match std::str::from_utf8(&head) {
        Ok(_) => head.len(),
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        Err(_) => head.len(),
    };
    head.truncate(whole_characters);
    Some(String::from_utf8_lossy(&head).into_owned())
}

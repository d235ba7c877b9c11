//! Many files in one form: what a browser sends when there is no script.
//!
//! Each file is taken or refused for itself, one after the other, by the same steps as a single upload. The mapping is a field
//! that stands before the files, so that nothing waits for the end of the form.

use axum::body::Body;
use axum::http::HeaderMap;
use redrive_api::UploadReply;
use redrive_door::multipart::Multipart;
use redrive_model::Code;

use super::receive::{self, Received, Stopped};
use super::{admission, announced, commit, form_boundary, name, reject, too_large};
use crate::app::App;
use crate::deadline::to_its_end;
use crate::disk::Incoming;
use crate::refusal::Refusal;
use crate::session::Guest;

/// Files in one form.
const MOST_FILES: usize = 200;

/// What became of one file.
pub(crate) struct Handed {
    /// What its owner calls it.
    pub(crate) name: String,
    /// Its job, or why there is none that runs.
    pub(crate) outcome: Result<UploadReply, Refusal>,
}

/// Takes every file of the form. What is wrong with the form as a whole is a refusal; files that were taken before stay taken.
pub(crate) async fn hand_in(
    app: &App,
    guest: &Guest,
    headers: &HeaderMap,
    body: Body,
) -> Result<Vec<Handed>, Refusal> {
    let boundary = form_boundary(headers)?;
    let limit = app.limits().max_upload;
    let _place = admission::admit(app, guest, announced(headers).unwrap_or(0), None).await?;
    let most = limit.saturating_mul(MOST_FILES as u64);
    let mut form = Multipart::new(body, &boundary, most).most_parts(MOST_FILES + 1);
    let (mut handed, mut mapping) = (Vec::new(), None);
    while let Some(part) = form.next_part().await.map_err(receive::malformed)? {
        match (part.name.as_str(), part.filename) {
            ("mapping", _) if handed.is_empty() && mapping.is_none() => {
                mapping = Some(receive::known_mapping(app, &mut form).await?);
            }
            // A field without a choice is sent too, empty.
            ("file", None) => {}
            ("file", Some(filename)) if filename.is_empty() => {}
            ("file", Some(filename)) => {
                let mapping = mapping.clone().unwrap_or_else(|| app.mappings().default_name());
                let name = name::display(&filename);
                let outcome = one(app, guest, &mut form, name.clone(), mapping).await?;
                handed.push(Handed { name, outcome });
            }
            (_, _) => {
                let text = "The form holds one field mapping, then fields file.";
                return Err(Refusal::new(Code::ValidationUnknownField, text));
            }
        }
    }
    match handed.is_empty() {
        true => Err(Refusal::new(Code::ValidationMissingField, "No file was chosen.")),
        false => Ok(handed),
    }
}

/// One file. The outer refusal ends the whole form, the inner one is about this file.
async fn one(
    app: &App,
    guest: &Guest,
    form: &mut Multipart,
    name: String,
    mapping: String,
) -> Result<Result<UploadReply, Refusal>, Refusal> {
    if let Some(session) = guest.known()
        && let Err(refusal) = admission::within_quota(app, session).await
    {
        return Ok(Err(refusal));
    }
    if let Err(refusal) = app.disk().admit(Incoming::Upload, 0).await {
        return Ok(Err(refusal));
    }
    match receive::store(app, form).await {
        Ok(sealed) => {
            let received = Received { sealed, name, mapping };
            let session = guest.keep(app).await?;
            let done = to_its_end(commit(app.clone(), session, received, None)).await;
            Ok(done.map(|(reply, _)| reply))
        }
        Err(Stopped::Request(refusal)) => Err(refusal),
        Err(Stopped::File { why, bytes }) => {
            let session = guest.keep(app).await?;
            Ok(Err(reject(app, session, name, mapping, bytes, *why).await))
        }
    }
}

/// The sentence for a file that is larger than may be.
pub(crate) fn too_large_sentence(app: &App) -> String {
    too_large(app.limits().max_upload).public_message().to_owned()
}

//! What people do with batches: by plain forms, which lead to the batch's page.

use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use bytes::Bytes;
use futures::stream;
use redrive_fetch::{Format, Handing, Shape, id_of_url};
use redrive_model::{Code, instant};
use url::form_urlencoded;

use super::super::banner::banner;
use super::super::layout::{Place, Shell};
use super::super::viewer::Viewer;
use super::batch::ENDED;
use super::list::form;
use crate::app::App;
use crate::deadline::to_its_end;
use crate::disk::Incoming;
use crate::fetch::post::refused;
use crate::own::OwnedBatch;
use crate::refusal::Refusal;
use crate::session::Guest;
use crate::upload::{admit_manifest, admit_received};

/// The largest form.
const FORM: usize = 256 * 1024;

/// Takes addresses from a form: one a line, each once.
pub(in crate::pages) async fn hand_in(
    State(app): State<App>,
    guest: Guest,
    viewer: Viewer,
    body: Body,
) -> Result<Response, Refusal> {
    let manifests = app.desk().manifests()?.clone();
    let too_large =
        || Refusal::new(Code::ValidationTooLarge, "Too many addresses for a form: send a manifest.");
    let body = axum::body::to_bytes(body, FORM).await.map_err(|_| too_large())?;
    let fields = form_urlencoded::parse(&body);
    let typed = fields.filter(|(name, _)| name == "urls").map(|(_, value)| value.into_owned()).next();
    let typed = typed.unwrap_or_default();
    let _place = admit_manifest(&app, &guest, typed.len() as u64, None).await?;
    let lines = manifest(&typed);
    let shape = Shape { format: Format::Ndjson, gzip: false };
    let stream = stream::iter([Ok::<_, axum::Error>(Bytes::from(lines))]);
    let received = match manifests.receive(stream, shape, &Handing::default()).await {
        Ok(received) => received,
        Err(error) => return Ok(flawed(&app, viewer, &refused(error), &typed).await),
    };
    let accepted = to_its_end(async move {
        let session = guest.keep(&app).await?;
        let _turn = admit_received(&app, &session, None).await?;
        app.desk().hand_in_manifest(&session, received, None).await.map_err(refused)
    })
    .await?;
    Ok(Redirect::to(&format!("/fetch/{}", accepted.batch)).into_response())
}

/// The form again, with what was typed and why it was not taken.
async fn flawed(app: &App, viewer: Viewer, refusal: &Refusal, typed: &str) -> Response {
    let problem = refusal.problem();
    let body = maud::html! {
        h1 { "Fetch" }
        (form(Some(&problem.detail), typed))
    };
    let mut response =
        Shell::new("Fetch", viewer).at(Place::Fetch).live(banner(app).await, "/live").page(&body);
    *response.status_mut() =
        axum::http::StatusCode::from_u16(problem.status).unwrap_or(axum::http::StatusCode::BAD_REQUEST);
    response
}

/// A line for each address; blank lines keep their place, so that what is said about a line is about the same line here.
fn manifest(typed: &str) -> String {
    let mut seen = std::collections::HashSet::new();
    let mut lines = String::new();
    for url in typed.lines().map(str::trim) {
        if !url.is_empty() && seen.insert(url) {
            let line = serde_json::json!({"id": id_of_url(url), "url": url});
            lines.push_str(&line.to_string());
        }
        lines.push('\n');
    }
    lines
}

/// Starts what failed again. A batch that had ended is still the same for a moment: its page waits until it is not.
pub(in crate::pages) async fn retry(State(app): State<App>, batch: OwnedBatch) -> Result<Redirect, Refusal> {
    app.disk().admit(Incoming::Manifest, 0).await?;
    let address = format!("/fetch/{}", batch.id);
    let address = match batch.finished_at {
        Some(at) => format!("{address}?{ENDED}={}", instant::to_millis(at)),
        None => address,
    };
    to_its_end(async move { batch.start_again().await }).await?;
    Ok(Redirect::to(&address))
}

/// Stops what has not ended.
pub(in crate::pages) async fn cancel(batch: OwnedBatch) -> Result<Redirect, Refusal> {
    let id = batch.id;
    to_its_end(async move { batch.cancel().await }).await?;
    Ok(Redirect::to(&format!("/fetch/{id}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_keep_their_numbers_and_addresses_come_once() {
        let lines = manifest("https://a.example/1\r\n\n https://a.example/2 \nhttps://a.example/1\n");
        let lines: Vec<&str> = lines.lines().collect();
        assert_eq!(lines.len(), 4);
        assert_eq!(lines[0], r#"{"id":"https://a.example/1","url":"https://a.example/1"}"#);
        assert_eq!((lines[1], lines[3]), ("", ""));
        assert!(lines[2].contains("/2"));
    }
}

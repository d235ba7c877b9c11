//! The daily digest put together: when, to whom, by mail or as files.

use std::sync::Arc;

use redrive_blob::shelf::Shelf;
use redrive_engine::{By, Engine};
use redrive_intake::digest::mail::Mailer;
use redrive_intake::digest::{DigestOptions, Digests, Post};
use redrive_store::intake::IntakeStore;
use url::Url;

use super::engine_stop;
use crate::exit::{Exit, Stop};
use crate::settings::{Digesting, Place, Values};

/// The schedule's name.
const NAME: &str = "digest";

/// Registers the digest and its schedule. What is written as files goes to intake's own place, where that is open.
pub(crate) async fn register(
    engine: &Engine,
    documents: &Arc<dyn IntakeStore>,
    digesting: &Digesting,
    base: Option<&Url>,
    shelf: Option<Arc<dyn Shelf>>,
    (place, values): (&Place, &Values),
) -> Result<Digests, Stop> {
    let post = match (&digesting.mail, shelf) {
        (Some(mail), _) => Post::Mail(Mailer::new(mail.clone())),
        (None, Some(shelf)) => Post::Files(shelf.blobs()),
        (None, None) => {
            let location = &digesting.place;
            let shelf = location.open_shelf(place.data_dir.join("spool"), values.variables()).await;
            let cannot =
                |error| Stop::new(Exit::Failed, format!("cannot open INTAKE_URL, {location}: {error}"));
            Post::Files(shelf.map_err(cannot)?.blobs())
        }
    };
    let options = DigestOptions {
        zone: digesting.zone.clone(),
        base_url: base.map(ToString::to_string),
        post,
        policy: DigestOptions::policy(),
    };
    let digests = Digests::new(engine.clone(), documents.clone(), options);
    digests.register(digesting.schedule.clone()).await.map_err(engine_stop)?;
    Ok(digests)
}

/// Ends the schedule of a server that has no intake any more.
pub(crate) async fn forget(engine: &Engine) -> Result<(), Stop> {
    let by = By::new("serve").because("INTAKE_URL is no longer set");
    engine.remove_permanent(NAME, &by).await.map(drop).map_err(engine_stop)
}

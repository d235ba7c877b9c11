//! Every place for files takes an object, gives it back as it was, and lets go of it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use redrive_api::Finding;
use redrive_blob::{Blobs, BlobsExt, Key, Location};
use redrive_store::clock::{Clock, SystemClock};

use crate::settings::{Serving, Values};
use crate::wiring;

/// A place that is well answers within this.
const PATIENCE: Duration = Duration::from_secs(20);

/// Whose place it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Whose {
    Ours,
    /// People put files there too.
    Peoples,
}

/// Tries all that are set, each once, whatever name it has.
pub(super) async fn examine(values: &Values, serving: &Serving) -> Vec<Finding> {
    let fetching = &serving.fetching;
    let ours = [
        ("UPLOADS_DIR", &serving.uploads),
        ("RESULTS_DIR", &serving.results),
        ("FETCH_TO", &fetching.to),
        ("MANIFESTS_DIR", &fetching.manifests),
    ];
    let also = fetching.also.iter().map(|place| ("FETCH_TO_ALSO", place));
    let intake = serving.intaking.iter().map(|intaking| ("INTAKE_URL", &intaking.place, Whose::Peoples));
    let all = ours.into_iter().chain(also).map(|(name, place)| (name, place, Whose::Ours)).chain(intake);
    let mut found = Vec::new();
    for (name, place, whose) in all {
        found.push(one(name, place, whose, values).await);
    }
    found
}

async fn one(name: &str, place: &Location, whose: Whose, values: &Values) -> Finding {
    if let Location::Folder(folder) = place
        && !Path::exists(folder)
    {
        let next = format!(
            "redrive serve makes it; if there was one, see whether its disk is mounted and {name} is right."
        );
        return Finding::note("places", format!("{name} {place} does not exist yet"), next);
    }
    let tried = async {
        let (blobs, _spool) = open(place, whose, values).await?;
        round_trip(&*blobs).await
    };
    let why = match tokio::time::timeout(PATIENCE, tried).await {
        Ok(Ok(())) => {
            return Finding::good(
                "places",
                format!("{name} {place}: an object was written, read and removed"),
            );
        }
        Ok(Err(why)) => why,
        Err(_) => format!("no answer within {} s", PATIENCE.as_secs()),
    };
    let next = match place {
        Location::Folder(_) => format!(
            "Let the user that redrive runs as read and write there, see whether the disk is full or mounted for reading only, or give {name} another folder."
        ),
        Location::S3 { .. } => format!(
            "See whether {name}, S3_ENDPOINT and the AWS settings are right, and whether this key may put, get and delete there."
        ),
    };
    Finding::bad("places", format!("{name} {place}: {why}"), next)
}

/// Opens a place without touching the data folder: what is on its way to a bucket lies in a folder that goes at the end.
pub(super) async fn open_ours(
    place: &Location,
    values: &Values,
) -> Result<(Arc<dyn Blobs>, tempfile::TempDir), String> {
    open(place, Whose::Ours, values).await
}

async fn open(
    place: &Location,
    whose: Whose,
    values: &Values,
) -> Result<(Arc<dyn Blobs>, tempfile::TempDir), String> {
    let spool = tempfile::tempdir().map_err(|error| format!("no folder for what is on its way: {error}"))?;
    let blobs = match whose {
        Whose::Ours => wiring::open_at(place, spool.path().to_owned(), values)
            .await
            .map_err(|stop| stop.message().to_owned())?,
        Whose::Peoples => {
            let shelf = place.open_shelf(spool.path(), values.variables()).await;
            shelf.map_err(|error| format!("cannot open {place}: {error}"))?.blobs()
        }
    };
    Ok((blobs, spool))
}

async fn round_trip(blobs: &dyn Blobs) -> Result<(), String> {
    // No two doctors use the same name.
    let name = format!("redrive-doctor-{}-{}", std::process::id(), SystemClock.now().as_nanosecond());
    let key = Key::parse(&name).map_err(|error| error.to_string())?;
    let stored = blobs.put_bytes(&key, Bytes::from(name)).await;
    let stored = stored.map_err(|error| format!("nothing can be written: {error}"))?;
    let read = blobs.verify(&key, &stored.sha256).await;
    let removed = blobs.delete(&key).await;
    read.map_err(|error| format!("what was written cannot be read: {error}"))?;
    removed.map(drop).map_err(|error| format!("{key} was written and cannot be removed: {error}"))
}

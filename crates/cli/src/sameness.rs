//! Whether two processes mean the same files.
//!
//! A worker whose folder is not the server's would find no PDF and give its jobs up. So the server leaves a mark in its folders and
//! notes it in the store; a worker compares before it claims anything. Of buckets the name is enough. So it is with what manifests may name: a
//! worker that does not know a place or a proxy pool would give up what asks for it.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use redrive_blob::Location;
use redrive_engine::Engine;

use crate::exit::{Exit, Stop};
use crate::settings::Fetching;

/// The places of `FETCH_TO_ALSO` with their marks, as JSON.
const ALSO: &str = "files/fetched-also";
/// The names of proxy pools, as JSON.
const POOLS: &str = "proxy-pools";

/// The mark in a folder. Names like this are never artifacts.
const MARK: &str = ".redrive-place";

/// Notes which files this server means.
pub(crate) async fn note(engine: &Engine, name: &str, place: &Location) -> Result<(), Stop> {
    let mark = made(engine, place)?;
    set(engine, &key(name), &mark).await
}

/// Notes which places and pools this server lets manifests name.
pub(crate) async fn note_fetching(engine: &Engine, fetching: &Fetching) -> Result<(), Stop> {
    let mut places = BTreeMap::new();
    for also in &fetching.also {
        places.insert(also.to_string(), made(engine, also)?);
    }
    set(engine, ALSO, &serde_json::json!(places).to_string()).await?;
    set(engine, POOLS, &serde_json::json!(fetching.pools).to_string()).await
}

/// Refuses to go on without a place or a pool that the server lets manifests name.
pub(crate) async fn check_fetching(engine: &Engine, fetching: &Fetching) -> Result<(), Stop> {
    let places: BTreeMap<String, String> = noted_as(engine, ALSO).await?;
    for (name, noted) in places {
        let Some(also) = fetching.also.iter().find(|also| also.to_string() == name) else {
            let text = format!(
                "redrive serve lets manifests store below {name}, which this worker does not know: give both the same FETCH_TO_ALSO"
            );
            return Err(Stop::new(Exit::Conflict, text));
        };
        if own(also).as_ref() != Some(&noted) {
            let text = format!(
                "{also} is not the folder that redrive serve lets manifests store below: share that folder with this machine, or take it out of FETCH_TO_ALSO of both"
            );
            return Err(Stop::new(Exit::Conflict, text));
        }
    }
    let pools: BTreeSet<String> = noted_as(engine, POOLS).await?;
    match pools.difference(&fetching.pools).next() {
        Some(missing) => {
            let text = format!(
                "redrive serve lets manifests ask for the proxy pool {missing}, which this worker does not know: give both the same [proxy_pools] in redrive.toml"
            );
            Err(Stop::new(Exit::Conflict, text))
        }
        None => Ok(()),
    }
}

/// The mark of a place, which is made where there is none.
fn made(engine: &Engine, place: &Location) -> Result<String, Stop> {
    match (own(place), place) {
        (Some(mark), _) => Ok(mark),
        (None, Location::Folder(folder)) => {
            let mark = format!("folder:{}", engine.new_id());
            write(folder, &mark)?;
            Ok(mark)
        }
        (None, Location::S3 { .. }) => Ok(place.to_string()),
    }
}

/// The mark that a place has.
fn own(place: &Location) -> Option<String> {
    match place {
        Location::Folder(folder) => read(folder),
        Location::S3 { .. } => Some(place.to_string()),
    }
}

async fn set(engine: &Engine, key: &str, value: &str) -> Result<(), Stop> {
    if noted(engine, key).await?.as_deref() != Some(value) {
        engine.store().set_setting(key, Some(value), "serve").await?;
    }
    Ok(())
}

/// Refuses to go on with other files than the server's.
pub(crate) async fn check(engine: &Engine, name: &str, place: &Location) -> Result<(), Stop> {
    let Some(noted) = noted(engine, &key(name)).await? else {
        let text = "no server has worked on this database yet: start redrive serve once, then this worker";
        return Err(Stop::new(Exit::Conflict, text));
    };
    if own(place).as_ref() == Some(&noted) {
        return Ok(());
    }
    let setting = match name {
        "fetched" => "FETCH_TO".to_owned(),
        "intake" => "INTAKE_URL".to_owned(),
        _ => format!("{}_DIR", name.to_uppercase()),
    };
    let text = match place {
        Location::Folder(folder) => format!(
            "{} is not the folder that redrive serve uses for {name}: share that folder with this machine, or give both the same {setting}=s3://bucket/prefix",
            folder.display()
        ),
        Location::S3 { .. } => {
            format!("redrive serve keeps {name} elsewhere than in {place}: give both the same {setting}")
        }
    };
    Err(Stop::new(Exit::Conflict, text))
}

fn key(name: &str) -> String {
    format!("files/{name}")
}

async fn noted(engine: &Engine, key: &str) -> Result<Option<String>, Stop> {
    let rows = engine.store().settings(key).await?;
    Ok(rows.into_iter().find(|row| row.key == key).map(|row| row.value))
}

/// The same where it is a list; an empty one where nothing was noted, or nothing that can be read.
async fn noted_as<T: Default + serde::de::DeserializeOwned>(engine: &Engine, key: &str) -> Result<T, Stop> {
    let noted = noted(engine, key).await?;
    Ok(noted.and_then(|noted| serde_json::from_str(&noted).ok()).unwrap_or_default())
}

fn read(folder: &Path) -> Option<String> {
    let text = std::fs::read_to_string(folder.join(MARK)).ok()?;
    Some(text.trim().to_owned()).filter(|mark| !mark.is_empty())
}

fn write(folder: &Path, mark: &str) -> Result<(), Stop> {
    let path = folder.join(MARK);
    let file = std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&path);
    file.and_then(|mut file| writeln!(file, "{mark}").and_then(|()| file.sync_all()))
        .map_err(|error| Stop::new(Exit::Failed, format!("cannot write {}: {error}", path.display())))
}

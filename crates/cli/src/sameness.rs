//! Whether two processes mean the same files.
//!
//! A worker whose folder is not the server's would find no PDF and give its jobs up. So the server leaves a mark in its folders and
//! notes it in the store; a worker compares before it claims anything. Of buckets the name is enough.

use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use redrive_blob::Location;
use redrive_engine::Engine;

use crate::exit::{Exit, Stop};

/// The mark in a folder. Names like this are never artifacts.
const MARK: &str = ".redrive-place";

/// Notes which files this server means.
pub(crate) async fn note(engine: &Engine, name: &str, place: &Location) -> Result<(), Stop> {
    let mark = match place {
        Location::Folder(folder) => match read(folder) {
            Some(mark) => mark,
            None => {
                let mark = format!("folder:{}", engine.new_id());
                write(folder, &mark)?;
                mark
            }
        },
        Location::S3 { .. } => place.to_string(),
    };
    let (key, store) = (key(name), engine.store());
    if noted(engine, &key).await?.as_ref() != Some(&mark) {
        store.set_setting(&key, Some(&mark), "serve").await?;
    }
    Ok(())
}

/// Refuses to go on with other files than the server's.
pub(crate) async fn check(engine: &Engine, name: &str, place: &Location) -> Result<(), Stop> {
    let Some(noted) = noted(engine, &key(name)).await? else {
        let text = "no server has worked on this database yet: start redrive serve once, then this worker";
        return Err(Stop::new(Exit::Conflict, text));
    };
    let own = match place {
        Location::Folder(folder) => read(folder),
        Location::S3 { .. } => Some(place.to_string()),
    };
    if own.as_ref() == Some(&noted) {
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

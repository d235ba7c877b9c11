//! The people of the demo: a few visitors who hand in documents, one after another, and an office that puts some into a folder.

use std::path::{Path, PathBuf};
use std::time::Duration;

use redrive_api::client::{Client, ClientError};
use url::Url;

use super::Stage;
use super::papers::{Flaw, Paper, paper};
use crate::say;

/// How many visitors there are. Each sees only what is theirs.
const OWNERS: usize = 3;
/// Between two documents: a breaker closes after some sixty of them went well.
const PACE: Duration = Duration::from_millis(400);
/// Between two documents in a calm round.
const CALM: Duration = Duration::from_secs(15);
/// What documents become, in turn.
const MAPPINGS: [&str; 4] = ["text", "alto", "tei", "docbook"];

/// The office's documents have numbers of their own.
const OFFICE: usize = 5_000;
/// It begins with so many, and puts in so many in all.
const FIRST: usize = 6;
const ALL: usize = 60;
const OFFICE_PACE: Duration = Duration::from_secs(12);
const FOLDERS: [&str; 3] = ["accounting", "legal", "front desk"];

/// Hands in documents until it is dropped.
pub(super) async fn visit(stage: &Stage, server: &Url, outbox: PathBuf) {
    let owners: Vec<Client> = (0..OWNERS).filter_map(|_| Client::new(server.clone(), None).ok()).collect();
    for (number, owner) in (0..).zip(owners.iter().cycle()) {
        let (flaw, mapping) = kind(number);
        let handed_in = upload(owner, &outbox, &paper(number, flaw), mapping).await;
        if let Err(error) = handed_in {
            say::note(&format!("a document of the demo was not taken: {error}"));
        }
        stage.rest(if stage.schedule.is_lively(stage.since()) { PACE } else { CALM }).await;
    }
}

/// Some documents are refused whenever they come. Those ask for no licence, so that a replay of what wanted one succeeds.
fn kind(number: usize) -> (Flaw, &'static str) {
    match number {
        _ if number % 9 == 4 => (Flaw::Damaged, "text"),
        _ if number % 14 == 6 => (Flaw::Locked, "text"),
        _ => (Flaw::None, MAPPINGS.get(number % MAPPINGS.len()).copied().unwrap_or("text")),
    }
}

async fn upload(owner: &Client, outbox: &Path, paper: &Paper, mapping: &str) -> Result<(), ClientError> {
    std::fs::create_dir_all(outbox)?;
    let path = outbox.join(&paper.name);
    std::fs::write(&path, &paper.bytes)?;
    let taken = owner.upload(&path, Some(mapping)).await;
    let removed = std::fs::remove_file(&path);
    taken?;
    Ok(removed?)
}

/// Puts documents into the office's queue until it has put in all of them.
pub(super) async fn work_in_the_office(stage: &Stage, place: PathBuf) {
    for number in 0..ALL {
        let flaw = if number % 5 == 2 { Flaw::Damaged } else { Flaw::None };
        let folder = FOLDERS.get(number % FOLDERS.len()).copied().unwrap_or_default();
        if let Err(error) = put(&place.join("queue").join(folder), &paper(OFFICE + number, flaw)) {
            say::note(&format!("a document was not put into the office's queue: {error}"));
        }
        if number >= FIRST {
            stage.rest(OFFICE_PACE).await;
        }
    }
}

/// A document appears whole, as good programs do it.
fn put(folder: &Path, paper: &Paper) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    let temp = folder.join(format!(".{}.part", paper.name));
    std::fs::write(&temp, &paper.bytes)?;
    std::fs::rename(temp, folder.join(&paper.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_refused_for_ever_asks_for_no_licence_and_most_documents_are_sound() {
        let all: Vec<_> = (0..1_000).map(kind).collect();
        let flawed = all.iter().filter(|(flaw, _)| *flaw != Flaw::None);
        assert!(flawed.clone().all(|(_, mapping)| *mapping == "text"));
        for flaw in [Flaw::Damaged, Flaw::Locked] {
            assert!(all.iter().take(15).any(|(of, _)| *of == flaw), "{flaw:?} comes soon");
        }
        assert!(flawed.count() < 200);
        assert!(all.iter().filter(|(_, mapping)| *mapping == "tei").count() > 150);
    }
}

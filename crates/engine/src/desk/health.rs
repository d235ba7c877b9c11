//! How permanent jobs and readers of events are: alive is not the same as getting on.

use redrive_model::{EventSeq, JobId, Shown, Timestamp, WorkloadName};
use redrive_store::ActEnd;

use super::By;
use crate::projector::READERS;
use crate::{Engine, Result};

/// A permanent job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermanentHealth {
    /// Its name.
    pub name: WorkloadName,
    /// Its job.
    pub job: JobId,
    /// Where it is.
    pub shown: Shown,
    /// When it runs next, or ran last.
    pub due_at: Timestamp,
    /// Failures in a row.
    pub failures: u32,
    /// The last thing that went wrong, while it goes wrong.
    pub trouble: Option<String>,
    /// Where it is in the event stream, if it reads that.
    pub reader: Option<ReaderHealth>,
}

/// A reader of the event stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReaderHealth {
    /// Its name.
    pub name: String,
    /// Every event up to this one is done with.
    pub position: EventSeq,
    /// When it last got on.
    pub since: Timestamp,
    /// How far behind the newest event it is, in numbers of the stream.
    pub behind: i64,
}

impl Engine {
    /// The permanent jobs that are registered here, with how they are.
    pub async fn permanents(&self) -> Result<Vec<PermanentHealth>> {
        let readers = self.readers().await?;
        let mut all = Vec::new();
        for name in self.permanent_names() {
            let Some(row) = self.newest_chore(&name).await? else { continue };
            let trouble = match row.attempt {
                0 => None,
                _ => self.store().attempts(row.id).await?.pop().and_then(|attempt| attempt.message),
            };
            let reader = readers.iter().find(|reader| reader.name == name.as_str()).cloned();
            let (job, shown, due_at, failures) = (row.id, row.shown, row.due_at, row.attempt);
            all.push(PermanentHealth { name, job, shown, due_at, failures, trouble, reader });
        }
        Ok(all)
    }

    /// Everybody who reads the event stream.
    pub async fn readers(&self) -> Result<Vec<ReaderHealth>> {
        let last = self.store().last_event().await?;
        let settings = self.store().settings(READERS).await?;
        let reader = |setting: redrive_store::SettingRow| {
            let position = EventSeq(setting.value.parse().unwrap_or(0));
            let name = setting.key.strip_prefix(READERS).unwrap_or(&setting.key).to_owned();
            ReaderHealth { name, position, since: setting.at, behind: (last.0 - position.0).max(0) }
        };
        Ok(settings.into_iter().map(reader).collect())
    }

    /// A reader is gone for good: retention need not keep events for it any more.
    pub async fn forget_reader(&self, name: &str, by: &By) -> Result<()> {
        let key = format!("{READERS}{name}");
        let act = async {
            let known = self.store().settings(&key).await?.into_iter().find(|row| row.key == key);
            self.store().set_setting(&key, None, by.actor()).await?;
            Ok(known.map(|row| format!("has read up to {}", row.value)))
        };
        let words = |before: &Option<String>| ActEnd::from("forgotten").changed(before.clone(), None);
        self.acted(by, "reader.forget", name, act, words).await.map(drop)
    }
}

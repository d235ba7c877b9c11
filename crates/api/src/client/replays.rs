//! Replays: counted, started, watched, paused, ended.

use reqwest::Method;

use super::{Client, QUICK, Result, read};
use crate::{Because, Matching, NewReplay, Replay, ReplayList, ReplayQuery};

impl Client {
    /// How many dead letters a replay would take, and up to which: said with it, exactly these are started. Nothing is started, whatever it says.
    pub async fn count_replay(&self, new: &NewReplay) -> Result<Matching> {
        self.tell(&["api", "replays"], &NewReplay { dry_run: true, ..new.clone() }).await
    }

    /// Starts a replay.
    pub async fn start_replay(&self, new: &NewReplay) -> Result<Replay> {
        self.tell(&["api", "replays"], &NewReplay { dry_run: false, ..new.clone() }).await
    }

    /// One page of replays, newest first.
    pub async fn replays(&self, wanted: &ReplayQuery) -> Result<ReplayList> {
        let request = self.request(Method::GET, &["api", "replays"]).query(wanted).timeout(QUICK);
        read(self.send(request).await?).await
    }

    /// How a replay is.
    pub async fn replay(&self, id: &str) -> Result<Replay> {
        self.get(&["api", "replays", id]).await
    }

    /// Takes no further dead letters until it is resumed.
    pub async fn pause_replay(&self, id: &str, why: &Because) -> Result<Replay> {
        self.tell(&["api", "replays", id, "pause"], why).await
    }

    /// Goes on.
    pub async fn resume_replay(&self, id: &str, why: &Because) -> Result<Replay> {
        self.tell(&["api", "replays", id, "resume"], why).await
    }

    /// Ends it.
    pub async fn cancel_replay(&self, id: &str, why: &Because) -> Result<Replay> {
        self.tell(&["api", "replays", id, "cancel"], why).await
    }
}

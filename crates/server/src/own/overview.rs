//! What the overview is made of: counts that were made already, and short reads.

use redrive_model::group::GroupState;
use redrive_model::{Timestamp, WorkloadName};
use redrive_store::{DeadCount, GroupFilter, GroupRow, MINUTES_READER, MinuteRow, PageRequest};

use super::Desk;
use crate::operator::Operator;
use crate::refusal::Refusal;

/// So many groups of a state are looked at.
const GROUPS: usize = 50;

impl Desk {
    /// What happened from this minute on, without the engine's own jobs.
    pub(crate) async fn minutes(
        &self,
        _: Operator,
        since: Timestamp,
        per_slot: u32,
    ) -> Result<Vec<MinuteRow>, Refusal> {
        Ok(self.engine.minutes(since, per_slot).await?)
    }

    /// Events that are not counted yet; all that there are when nobody counts.
    pub(crate) async fn uncounted(&self, _: Operator) -> Result<u64, Refusal> {
        let readers = self.engine.readers().await?;
        let ours = readers.into_iter().find(|reader| MINUTES_READER.ends_with(&reader.name));
        let behind = match ours {
            Some(reader) => reader.behind,
            None => self.engine.store().last_event().await?.0,
        };
        Ok(u64::try_from(behind).unwrap_or(0))
    }

    /// Dead letters that wait, without those of the engine's own jobs.
    pub(crate) async fn dead_counts(&self, _: Operator) -> Result<Vec<DeadCount>, Refusal> {
        let mut counts = self.engine.store().dead_counts().await?;
        counts.retain(|count| !self.is_own(&count.workload));
        Ok(counts)
    }

    /// Causes that nobody has looked at yet, or that came back, last seen first; and whether there are more of them.
    pub(crate) async fn fresh_groups(&self, _: Operator) -> Result<(Vec<GroupRow>, bool), Refusal> {
        let (mut groups, mut more) = (Vec::new(), false);
        for state in [GroupState::New, GroupState::Regressed] {
            let filter = GroupFilter { state: Some(state), ..GroupFilter::default() };
            let page =
                self.engine.store().groups(filter, PageRequest { limit: GROUPS, cursor: None }).await?;
            more |= page.next.is_some();
            groups.extend(page.rows);
        }
        groups.retain(|group| !self.is_own(&group.workload));
        groups.sort_by_key(|group| std::cmp::Reverse(group.last_seen));
        Ok((groups, more))
    }

    /// Kinds of job that there are, without the engine's own.
    pub(crate) async fn workloads(&self) -> Result<Vec<String>, Refusal> {
        let counts = self.lanes().await?;
        let mut names: Vec<String> = counts
            .states
            .iter()
            .filter(|count| !self.is_own(&count.workload))
            .map(|count| count.workload.to_string())
            .collect();
        names.sort_unstable();
        names.dedup();
        Ok(names)
    }

    /// Ends a pause, of one kind of job or of everything.
    pub(crate) async fn resume(
        &self,
        operator: Operator,
        workload: Option<&WorkloadName>,
        reason: Option<String>,
    ) -> Result<(), Refusal> {
        Ok(self.engine.resume(workload, &operator.by(reason)).await?)
    }

    /// What a person has paused; an empty name stands for everything.
    pub(crate) async fn paused(&self, _: Operator) -> Result<Vec<String>, Refusal> {
        let mut paused = self.engine.store().paused().await?;
        paused.retain(|name| {
            name.is_empty() || !WorkloadName::new(name.as_str()).is_ok_and(|name| self.is_own(&name))
        });
        Ok(paused)
    }
}

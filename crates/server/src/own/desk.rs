//! What operators ask and do. Every act leaves its line in the audit trail, under the name by which the door knows them, with their scope and the id of
//! the request ([`Operator::by`]).

use redrive_api::SettingList;
use redrive_engine::{BulkCancelled, BulkDiscarded, EngineError, NewReplay, Replay, ReplayFilter, Simulated};
use redrive_model::fingerprint::Fingerprint;
use redrive_model::group::GroupState;
use redrive_model::{Code, JobId, Offset, Policy, ReplayId, Target, Timestamp, WorkerId, WorkloadName};
use redrive_store::{
    ActFilter, ActRow, Acted, BreakerRow, DeadFilter, GroupFilter, GroupRow, JobFilter, Matching, Page,
    PageRequest, TurnRow, WorkerRow,
};

use super::Desk;
use crate::desk::replays::Turn;
use crate::operator::Operator;
use crate::refusal::Refusal;

impl Desk {
    /// The settings with what was changed at run time.
    pub(crate) async fn in_force(&self, _: Operator, list: SettingList) -> SettingList {
        crate::settings::in_force(list, self.engine.store().as_ref()).await
    }

    // --- dead letters ------------------------------------------------------------------------------------------

    /// Starts the job of a dead letter again.
    pub(crate) async fn replay_letter(
        &self,
        operator: Operator,
        job: JobId,
        reason: Option<String>,
    ) -> Result<Acted, Refusal> {
        match self.engine.retry(vec![job], &operator.by(reason)).await {
            Ok(acted) => Ok(acted.first().copied().unwrap_or(Acted::NotFound)),
            Err(EngineError::Refused { code, .. }) if code.public() == Code::Expired => Ok(Acted::SourceGone),
            Err(EngineError::Refused { code: Code::SystemUndecodable, .. }) => {
                let text = "What the job was given cannot be read here, so it is not started again.";
                Err(Refusal::new(Code::ConflictState, text).job(job))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Marks a dead letter as not wanted. Answers whether it was open.
    pub(crate) async fn discard(
        &self,
        operator: Operator,
        offset: Offset,
        reason: Option<String>,
    ) -> Result<bool, Refusal> {
        Ok(self.engine.discard(vec![offset], &operator.by(reason)).await? > 0)
    }

    // --- many jobs ---------------------------------------------------------------------------------------------

    pub(crate) async fn count_waiting(
        &self,
        _: Operator,
        filter: JobFilter,
    ) -> Result<Matching<JobId>, Refusal> {
        Ok(self.engine.count_waiting(filter).await?)
    }

    pub(crate) async fn cancel_waiting(
        &self,
        operator: Operator,
        filter: JobFilter,
        most: usize,
        reason: Option<String>,
    ) -> Result<BulkCancelled, Refusal> {
        Ok(self.engine.cancel_waiting(filter, most, &operator.by(reason)).await?)
    }

    pub(crate) async fn count_discard(
        &self,
        _: Operator,
        filter: DeadFilter,
    ) -> Result<Matching<Offset>, Refusal> {
        Ok(self.engine.count_discard(filter).await?)
    }

    pub(crate) async fn discard_many(
        &self,
        operator: Operator,
        filter: DeadFilter,
        most: usize,
        reason: Option<String>,
    ) -> Result<BulkDiscarded, Refusal> {
        Ok(self.engine.discard_matching(filter, most, &operator.by(reason)).await?)
    }

    // --- replays -----------------------------------------------------------------------------------------------

    pub(crate) async fn count_replay(
        &self,
        _: Operator,
        workload: &WorkloadName,
        filter: &ReplayFilter,
    ) -> Result<Matching<Offset>, Refusal> {
        Ok(self.engine.count_replay(workload, filter).await?)
    }

    pub(crate) async fn start_replay(
        &self,
        operator: Operator,
        new: NewReplay,
        reason: Option<String>,
    ) -> Result<ReplayId, Refusal> {
        match self.engine.start_replay(new, &operator.by(reason)).await {
            Err(EngineError::Refused { code: Code::NotFound, .. }) => {
                Err(Refusal::new(Code::NotFound, "No open dead letter matches."))
            }
            started => Ok(started?),
        }
    }

    pub(crate) async fn replay(&self, _: Operator, id: ReplayId) -> Result<Option<Replay>, Refusal> {
        Ok(self.engine.replay(id).await?)
    }

    pub(crate) async fn replays(
        &self,
        _: Operator,
        workload: Option<&WorkloadName>,
        page: PageRequest,
    ) -> Result<Page<Replay>, Refusal> {
        Ok(self.engine.replays(workload, page).await?)
    }

    pub(crate) async fn turn_replay(
        &self,
        operator: Operator,
        id: ReplayId,
        turn: Turn,
        reason: Option<String>,
    ) -> Result<(), Refusal> {
        let by = operator.by(reason);
        let turned = match turn {
            Turn::Pause => self.engine.pause_replay(id, &by).await,
            Turn::Resume => self.engine.resume_replay(id, &by).await,
            Turn::Cancel => self.engine.cancel_replay(id, &by).await,
        };
        turned.map_err(Refusal::from)
    }

    // --- groups ------------------------------------------------------------------------------------------------

    pub(crate) async fn groups(
        &self,
        _: Operator,
        filter: GroupFilter,
        page: PageRequest,
    ) -> Result<Page<GroupRow>, Refusal> {
        Ok(self.engine.store().groups(filter, page).await?)
    }

    pub(crate) async fn group(&self, _: Operator, group: &Fingerprint) -> Result<Option<GroupRow>, Refusal> {
        let filter = GroupFilter { fingerprint: Some(group.clone()), ..GroupFilter::default() };
        Ok(self.engine.store().groups(filter, PageRequest { limit: 1, cursor: None }).await?.rows.pop())
    }

    pub(crate) async fn move_group(
        &self,
        operator: Operator,
        group: &Fingerprint,
        to: GroupState,
        reason: Option<String>,
    ) -> Result<(), Refusal> {
        Ok(self.engine.move_group(group, to, &operator.by(reason)).await?)
    }

    // --- targets and workers -----------------------------------------------------------------------------------

    pub(crate) async fn hold(
        &self,
        operator: Operator,
        target: &Target,
        until: Option<Timestamp>,
        reason: Option<String>,
    ) -> Result<(), Refusal> {
        Ok(self.engine.hold(target, until, &operator.by(reason)).await?)
    }

    pub(crate) async fn release(
        &self,
        operator: Operator,
        target: &Target,
        reason: Option<String>,
    ) -> Result<(), Refusal> {
        Ok(self.engine.release(target, &operator.by(reason)).await?)
    }

    pub(crate) async fn breaker(&self, _: Operator, target: &Target) -> Result<Option<BreakerRow>, Refusal> {
        Ok(self.engine.store().breaker(target).await?)
    }

    pub(crate) async fn turns(
        &self,
        _: Operator,
        target: Option<&Target>,
        page: PageRequest,
    ) -> Result<Page<TurnRow>, Refusal> {
        Ok(self.engine.store().breaker_turns(target, page).await?)
    }

    pub(crate) async fn workers(&self, _: Operator) -> Result<Vec<WorkerRow>, Refusal> {
        Ok(self.engine.store().workers().await?)
    }

    pub(crate) async fn drain_worker(
        &self,
        operator: Operator,
        worker: WorkerId,
        wanted: bool,
        reason: Option<String>,
    ) -> Result<(), Refusal> {
        Ok(self.engine.drain_worker(worker, wanted, &operator.by(reason)).await?)
    }

    /// Has the doctor look, who writes into every place and asks every target; `start` says whether it did not do so already.
    pub(crate) async fn examined(
        &self,
        operator: Operator,
        start: impl FnOnce() -> bool,
    ) -> Result<(), Refusal> {
        let words = |began: &bool| if *began { "begun" } else { "one is under way" };
        let act = async { Ok(start()) };
        self.engine.acted(&operator.by(None), "doctor.examine", "this server", act, words).await?;
        Ok(())
    }

    // --- the past ----------------------------------------------------------------------------------------------

    pub(crate) async fn acts(
        &self,
        _: Operator,
        filter: ActFilter,
        page: PageRequest,
    ) -> Result<Page<ActRow>, Refusal> {
        Ok(self.engine.store().acts(filter, page).await?)
    }

    pub(crate) async fn simulate(
        &self,
        _: Operator,
        workload: &WorkloadName,
        policy: &Policy,
        since: Timestamp,
    ) -> Result<Simulated, Refusal> {
        Ok(self.engine.simulate(workload, policy, since).await?)
    }
}

//! Recording how attempts ended, each fenced by its lease token.
//!
//! Plain successes and requeues are one statement each. Whatever touches a batch, and every final failure, goes through
//! one transaction.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::Ordering;

use redrive_model::decide::{Charge, Due, Requeue};
use redrive_model::limits::MAX_CONTEXT_BYTES;
use redrive_model::{BatchId, Failure, JobId, Offset, Rule, State, instant};
use redrive_store::{Authority, BatchChange, EventKind, Finish, Finished, Step};
use sqlx::{Connection, PgConnection, Row};
use uuid::Uuid;

use super::batch;
use super::enqueue::Fault;
use crate::hot::Use;
use crate::row;
use crate::store::Inner;

/// Rows that were recorded: by job, with what the batch needs to know.
type Recorded = HashMap<JobId, Ended>;

/// What an attempt's end led to.
#[derive(Clone, Copy)]
struct Ended {
    state: State,
    batch: Option<BatchId>,
    dead: Option<Offset>,
    /// When it failed for good; 0 for all others.
    at: i64,
}

impl Ended {
    const fn in_state(state: State, batch: Option<BatchId>) -> Self {
        Self { state, batch, dead: None, at: 0 }
    }
}

pub(crate) async fn finish(inner: &Inner, finishes: &[Finish]) -> Result<Vec<Finished>, Fault> {
    let mut answers: Vec<Option<Finished>> = vec![None; finishes.len()];
    for round in rounds(finishes) {
        let part: Vec<&Finish> = round.iter().filter_map(|&n| finishes.get(n)).collect();
        let recorded = record(inner, &part).await?;
        let late = outcomes(inner, &part, &recorded).await?;
        for ((&n, f), late) in round.iter().zip(&part).zip(late) {
            if let Some(answer) = answers.get_mut(n) {
                *answer =
                    Some(recorded.get(&f.lease.job).map_or(late, |ended| Finished::Recorded(ended.state)));
            }
        }
    }
    Ok(answers.into_iter().map(|a| a.unwrap_or(Finished::Lost)).collect())
}

/// Two finishes of the same job cannot go into one statement: the second one goes into the next round.
fn rounds(finishes: &[Finish]) -> Vec<Vec<usize>> {
    let mut rounds: Vec<Vec<usize>> = Vec::new();
    let mut seen: HashMap<JobId, usize> = HashMap::with_capacity(finishes.len());
    for (n, f) in finishes.iter().enumerate() {
        let round = seen.entry(f.lease.job).and_modify(|r| *r += 1).or_insert(0);
        match rounds.get_mut(*round) {
            Some(list) => list.push(n),
            None => rounds.push(vec![n]),
        }
    }
    rounds
}

async fn record(inner: &Inner, part: &[&Finish]) -> Result<Recorded, Fault> {
    let of = |pick: fn(&Step) -> bool| part.iter().copied().filter(|f| pick(&f.step)).collect::<Vec<_>>();
    let completes = of(|s| matches!(s, Step::Complete { .. }));
    let requeues = of(|s| matches!(s, Step::Requeue { .. }));
    let fails = of(|s| matches!(s, Step::Fail { .. }));
    let kinds = [completes.is_empty(), requeues.is_empty(), fails.is_empty()].iter().filter(|e| !**e).count();
    let simple = kinds == 1
        && fails.is_empty()
        && part
            .iter()
            .all(|f| f.state.is_none() && f.authority == Authority::Holder && !awaits(f) && !is_alone(f));
    if simple && requeues.is_empty() && !inner.batches_seen.load(Ordering::Relaxed) {
        let mut lent = inner.hot.take(Use::Write).await?;
        let done = complete(lent.conn(), inner, &completes, false).await;
        let mut recorded = lent.settle(done)?;
        // Members of a batch are left over here, and so are lost leases; both take the long way.
        let rest: Vec<&Finish> =
            completes.into_iter().filter(|f| !recorded.contains_key(&f.lease.job)).collect();
        if !rest.is_empty() {
            let more = in_transaction(inner, &rest, &[], &[]).await?;
            let members = more.values().any(|ended| ended.batch.is_some());
            inner.batches_seen.store(members, Ordering::Relaxed);
            recorded.extend(more);
        }
        return Ok(recorded);
    }
    if simple && completes.is_empty() {
        let mut lent = inner.hot.take(Use::Write).await?;
        let done = requeue(lent.conn(), inner, &requeues).await;
        return Ok(lent.settle(done)?);
    }
    let recorded = in_transaction(inner, &completes, &requeues, &fails).await?;
    if !completes.is_empty() && recorded.values().all(|ended| ended.batch.is_none()) {
        inner.batches_seen.store(false, Ordering::Relaxed);
    }
    Ok(recorded)
}

async fn in_transaction(
    inner: &Inner,
    completes: &[&Finish],
    requeues: &[&Finish],
    fails: &[&Finish],
) -> Result<Recorded, Fault> {
    let alone: Vec<Uuid> = requeues.iter().filter(|f| is_alone(f)).map(|f| f.lease.job.as_uuid()).collect();
    if !alone.is_empty() {
        sqlx::query(inner.sql.ensure_alone.text()).bind(alone).execute(&inner.pool).await?;
    }
    let mut lent = inner.hot.take(Use::Write).await?;
    let mut tx = lent.conn().begin().await?;
    let mut recorded = Recorded::new();
    if !completes.is_empty() {
        recorded.extend(complete(&mut tx, inner, completes, true).await?);
        states(&mut tx, inner, completes, &recorded).await?;
    }
    if !requeues.is_empty() {
        recorded.extend(requeue(&mut tx, inner, requeues).await?);
    }
    if !fails.is_empty() {
        recorded.extend(fail(&mut tx, inner, fails).await?);
    }
    let mut changes: BTreeMap<BatchId, BatchChange> = BTreeMap::new();
    for f in completes.iter().chain(fails) {
        if let Some(Ended { state, batch: Some(batch), dead, at }) = recorded.get(&f.lease.job) {
            changes.entry(*batch).or_default().end(f, *state, *dead, *at);
        }
    }
    batch::apply(&mut tx, inner, changes).await?;
    let done = tx.commit().await;
    lent.settle(done)?;
    Ok(recorded)
}

async fn complete(
    conn: &mut PgConnection,
    inner: &Inner,
    items: &[&Finish],
    members: bool,
) -> sqlx::Result<Recorded> {
    let step = |f: &&Finish| match &f.step {
        Step::Complete { result, keep } => {
            (result.clone().unwrap_or_default(), keep.map(|k| instant::add_ms(0, k)))
        }
        Step::Requeue { .. } | Step::Fail { .. } => (String::new(), None),
    };
    let rule =
        |f: &&Finish| Some(f.report.rule).filter(|rule| *rule != Rule::HandlerCompleted).map(Rule::as_str);
    let (results, keeps): (Vec<String>, Vec<Option<i64>>) = items.iter().map(step).unzip();
    let rows = sqlx::query(inner.sql.complete.text())
        .bind(ids(items))
        .bind(tokens(items))
        .bind(results)
        .bind(keeps)
        .bind(items.iter().map(rule).collect::<Vec<_>>())
        .bind(items.iter().map(|f| f.report.policy.as_str()).collect::<Vec<_>>())
        .bind(members)
        .bind(expired(items))
        .fetch_all(conn)
        .await?;
    rows.iter().map(|r| Ok((row::job(r, 0)?, Ended::in_state(State::Complete, row::batch(r, 1)?)))).collect()
}

/// Execution state that came with a success.
async fn states(
    conn: &mut PgConnection,
    inner: &Inner,
    items: &[&Finish],
    recorded: &Recorded,
) -> sqlx::Result<()> {
    let with: Vec<(Uuid, &[u8])> = items
        .iter()
        .filter(|f| recorded.contains_key(&f.lease.job))
        .filter_map(|f| f.state.as_deref().map(|state| (f.lease.job.as_uuid(), state)))
        .collect();
    if with.is_empty() {
        return Ok(());
    }
    let (ids, states): (Vec<Uuid>, Vec<&[u8]>) = with.into_iter().unzip();
    sqlx::query(inner.sql.complete_state.text()).bind(ids).bind(states).execute(conn).await.map(drop)
}

async fn requeue(conn: &mut PgConnection, inner: &Inner, items: &[&Finish]) -> sqlx::Result<Recorded> {
    let waiting: Vec<Uuid> = items.iter().filter_map(|f| awaited(f)).collect();
    let open: Vec<Uuid> = match waiting.is_empty() {
        true => Vec::new(),
        false => {
            sqlx::query_scalar(inner.sql.share_batches.text()).bind(&waiting).fetch_all(&mut *conn).await?
        }
    };
    let mut c = RequeueColumns::default();
    items.iter().for_each(|f| c.push(f, &open));
    let failures = Failures::of(items);
    let rows = sqlx::query(inner.sql.requeue.text())
        .bind(expired(items))
        .bind(ids(items))
        .bind(tokens(items))
        .bind(c.outcome)
        .bind(c.kind)
        .bind(c.due_in)
        .bind(c.due_at)
        .bind(c.awaits)
        .bind(c.charge)
        .bind(items.iter().map(|f| i32::from(f.is_crash())).collect::<Vec<_>>())
        .bind(c.released)
        .bind(c.spent)
        .bind(c.alone)
        .bind(failures.code)
        .bind(failures.message)
        .bind(failures.context)
        .bind(failures.status)
        .bind(items.iter().map(|f| f.report.rule.as_str()).collect::<Vec<_>>())
        .bind(items.iter().map(|f| f.report.policy.as_str()).collect::<Vec<_>>())
        .bind(failures.fingerprint)
        .bind(failures.target)
        .bind(items.iter().map(|f| f.state.as_deref()).collect::<Vec<_>>())
        .fetch_all(conn)
        .await?;
    rows.iter().map(|r| Ok((row::job(r, 0)?, Ended::in_state(State::Queued, None)))).collect()
}

#[derive(Default)]
struct RequeueColumns {
    outcome: Vec<&'static str>,
    kind: Vec<&'static str>,
    due_in: Vec<Option<i64>>,
    due_at: Vec<Option<i64>>,
    awaits: Vec<Option<Uuid>>,
    charge: Vec<i32>,
    released: Vec<i32>,
    spent: Vec<Option<String>>,
    alone: Vec<bool>,
}

impl RequeueColumns {
    fn push(&mut self, f: &Finish, open: &[Uuid]) {
        let Step::Requeue { why, due, charge, spent, alone } = &f.step else { return };
        let (due_in, due_at, awaits) = match due {
            Due::Kept => (None, None, None),
            Due::In(wait) => (Some(instant::add_ms(0, *wait)), None, None),
            Due::At(at) => (None, Some(instant::to_millis(*at)), None),
            Due::Batch(id) if open.contains(&id.as_uuid()) => {
                (None, Some(instant::LAST_MS), Some(id.as_uuid()))
            }
            // Ended already, or not known: nobody waits for it.
            Due::Batch(_) => (Some(0), None, None),
        };
        self.outcome.push(why.as_str());
        self.kind.push(EventKind::of_requeue(*why).as_str());
        self.due_in.push(due_in);
        self.due_at.push(due_at);
        self.awaits.push(awaits);
        self.charge.push(match charge {
            Charge::Keep => 0,
            Charge::GiveBack => 1,
            Charge::Reset => 2,
        });
        self.released.push(i32::from(*why == Requeue::Release && *charge == Charge::GiveBack));
        self.spent.push(if spent.is_empty() { None } else { serde_json::to_string(spent).ok() });
        self.alone.push(*alone);
    }
}

async fn fail(conn: &mut PgConnection, inner: &Inner, items: &[&Finish]) -> sqlx::Result<Recorded> {
    let failures = Failures::of(items);
    let step = |f: &&Finish| match &f.step {
        Step::Fail { reason, keep } => (reason.as_str(), keep.map(|k| instant::add_ms(0, k))),
        Step::Complete { .. } | Step::Requeue { .. } => ("", None),
    };
    let (reasons, keeps): (Vec<&str>, Vec<Option<i64>>) = items.iter().map(step).unzip();
    let rows = sqlx::query(inner.sql.fail.text())
        .bind(expired(items))
        .bind(ids(items))
        .bind(tokens(items))
        .bind(reasons)
        .bind(keeps)
        .bind(items.iter().map(|f| i32::from(f.is_crash())).collect::<Vec<_>>())
        .bind(failures.code)
        .bind(
            items.iter().map(|f| f.report.failure.as_ref().map(Failure::public_message)).collect::<Vec<_>>(),
        )
        .bind(failures.message)
        .bind(failures.context)
        .bind(failures.status)
        .bind(items.iter().map(|f| f.report.rule.as_str()).collect::<Vec<_>>())
        .bind(items.iter().map(|f| f.report.policy.as_str()).collect::<Vec<_>>())
        .bind(failures.fingerprint)
        .bind(failures.target)
        .bind(items.iter().map(|f| f.state.as_deref()).collect::<Vec<_>>())
        .fetch_all(conn)
        .await?;
    let read = |r: &sqlx::postgres::PgRow| {
        let dead = r.try_get::<Option<i64>, _>(2)?.map(Offset);
        let ended = Ended { dead, at: r.try_get(3)?, ..Ended::in_state(State::Failed, row::batch(r, 1)?) };
        Ok((row::job(r, 0)?, ended))
    };
    rows.iter().map(read).collect()
}

/// What is recorded about failures, as columns.
struct Failures<'a> {
    code: Vec<Option<&'static str>>,
    message: Vec<Option<&'a str>>,
    context: Vec<Option<String>>,
    status: Vec<Option<i32>>,
    fingerprint: Vec<Option<&'a str>>,
    target: Vec<Option<&'a str>>,
}

impl<'a> Failures<'a> {
    fn of(items: &[&'a Finish]) -> Self {
        let all = || items.iter().map(|f| f.report.failure.as_ref());
        Self {
            code: all().map(|f| f.map(|f| f.code.name())).collect(),
            message: all().map(|f| f.map(|f| f.message.as_str())).collect(),
            context: all().map(|f| f.and_then(context)).collect(),
            status: all().map(|f| f.and_then(|f| f.target_status).map(i32::from)).collect(),
            fingerprint: items.iter().map(|f| f.report.fingerprint.as_ref().map(|x| x.as_str())).collect(),
            target: items.iter().map(|f| f.report.target.as_ref().map(|t| t.as_str())).collect(),
        }
    }
}

/// The context as JSON, bounded.
fn context(failure: &Failure) -> Option<String> {
    if failure.context.is_empty() {
        return None;
    }
    serde_json::to_string(&failure.context).ok().filter(|json| json.len() <= MAX_CONTEXT_BYTES + 64)
}

/// For what was not recorded: the same finish made before is answered as it was then, anything else is noted as late.
async fn outcomes(inner: &Inner, part: &[&Finish], recorded: &Recorded) -> Result<Vec<Finished>, Fault> {
    let lost: Vec<&Finish> = part.iter().copied().filter(|f| !recorded.contains_key(&f.lease.job)).collect();
    let mut answers: HashMap<JobId, Finished> = HashMap::new();
    if !lost.is_empty() {
        let rows = sqlx::query(inner.sql.outcomes.text())
            .bind(ids(&lost))
            .bind(tokens(&lost))
            .fetch_all(&inner.pool)
            .await?;
        let mut late: Vec<&Finish> = Vec::new();
        for (f, r) in lost.iter().zip(&rows) {
            let outcome: Option<String> = r.try_get(1)?;
            let (rule, code): (Option<String>, Option<String>) = (r.try_get(2)?, r.try_get(3)?);
            let Some(outcome) = outcome else { continue };
            if f.is_repetition_of(&outcome, rule.as_deref(), code.as_deref()) {
                answers.insert(f.lease.job, Finished::Recorded(f.step.state()));
            } else if f.authority == Authority::Holder {
                late.push(f);
            }
        }
        if !late.is_empty() {
            let words: Vec<&str> = late.iter().map(|f| f.step.outcome()).collect();
            sqlx::query(inner.sql.mark_late.text())
                .bind(ids(&late))
                .bind(tokens(&late))
                .bind(words)
                .execute(&inner.pool)
                .await?;
        }
    }
    Ok(part.iter().map(|f| answers.get(&f.lease.job).copied().unwrap_or(Finished::Lost)).collect())
}

fn ids(items: &[&Finish]) -> Vec<Uuid> {
    items.iter().map(|f| f.lease.job.as_uuid()).collect()
}

fn tokens(items: &[&Finish]) -> Vec<i64> {
    items.iter().map(|f| f.lease.token.0).collect()
}

fn expired(items: &[&Finish]) -> Vec<bool> {
    items.iter().map(|f| f.authority == Authority::Expired).collect()
}

fn awaited(f: &Finish) -> Option<Uuid> {
    match &f.step {
        Step::Requeue { due: Due::Batch(id), .. } => Some(id.as_uuid()),
        Step::Requeue { .. } | Step::Complete { .. } | Step::Fail { .. } => None,
    }
}

fn awaits(f: &Finish) -> bool {
    awaited(f).is_some()
}

fn is_alone(f: &Finish) -> bool {
    matches!(&f.step, Step::Requeue { alone: true, .. })
}

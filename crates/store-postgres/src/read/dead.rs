//! Dead letters and failure groups.

use redrive_model::decide::DeadReason;
use redrive_model::fingerprint::Fingerprint;
use redrive_model::group::GroupState;
use redrive_model::{Code, JobId, Offset, Target, WorkloadName, instant};
use redrive_store::{
    DeadFilter, DeadRow, DeadSource, DeadState, GroupFilter, GroupRow, Matching, Page, PageRequest,
};
use sqlx::Row;
use sqlx::postgres::PgRow;

use crate::row;
use crate::sql::scan;
use crate::store::Inner;
use crate::verb::enqueue::Fault;

fn dead_row(r: &PgRow) -> sqlx::Result<DeadRow> {
    Ok(DeadRow {
        offset: Offset(r.try_get(0)?),
        job: row::job(r, 1)?,
        generation: row::count(r, 2)?,
        workload: row::checked(r, 3, str::parse::<WorkloadName>)?,
        owner: row::owner(r, 4)?,
        reason: row::word(r, 5, DeadReason::parse)?,
        code: row::code(r, 6)?.unwrap_or(Code::Unknown),
        message: r.try_get(7)?,
        attempts: row::count(r, 8)?,
        fingerprint: row::checked(r, 9, str::parse::<Fingerprint>)?,
        state: row::word(r, 10, DeadState::parse)?,
        at: row::at(r, 11)?,
        closed_at: row::opt_at(r, 12)?,
        replay: row::replay(r, 13)?,
        previous: r.try_get::<Option<i64>, _>(14)?.map(Offset),
    })
}

pub(crate) async fn dead_letter(inner: &Inner, offset: Offset) -> sqlx::Result<Option<DeadRow>> {
    let row = sqlx::query(inner.sql.dead.text()).bind(offset.0).fetch_optional(&inner.pool).await?;
    row.as_ref().map(dead_row).transpose()
}

pub(crate) async fn dead_letters_of(inner: &Inner, job: JobId) -> sqlx::Result<Vec<DeadRow>> {
    let rows = sqlx::query(inner.sql.dead_of_job.text()).bind(job.as_uuid()).fetch_all(&inner.pool).await?;
    rows.iter().map(dead_row).collect()
}

pub(crate) async fn dead_letters(
    inner: &Inner,
    filter: &DeadFilter,
    page: &PageRequest,
) -> Result<Page<DeadRow>, Fault> {
    let mut found = Page { rows: Vec::new(), next: None };
    for reach in page.reaches() {
        let looked;
        (found, looked) = look(inner, filter, page, reach).await?;
        if found.rows.len() == page.rows() || looked < reach {
            break;
        }
    }
    Ok(found)
}

/// A page from the nearest so many rows, and how many of them there were.
async fn look(
    inner: &Inner,
    filter: &DeadFilter,
    page: &PageRequest,
    reach: i64,
) -> Result<(Page<DeadRow>, i64), Fault> {
    let limit = page.rows();
    let before = page.after::<i64>()?;
    let state = filter.state.unwrap_or(DeadState::Open);
    let open = state == DeadState::Open;
    let scan = if filter.group.is_some() && open { scan::DEAD_GROUP } else { scan::DEAD_NEWEST };
    let rows = sqlx::query(inner.sql.dead_list.ordered(scan, &inner.schema, filter.oldest_first))
        .bind(before)
        .bind(reach)
        .bind(state.as_str())
        .bind(filter.code.map(Code::names))
        .bind(filter.workload.as_ref().map(|w| w.as_str()))
        .bind(filter.group.as_ref().map(|g| g.as_str()))
        .bind(filter.owner.as_ref().map(|o| o.as_str()))
        .bind(filter.since.map(instant::to_millis))
        .bind(filter.until.map(instant::to_millis))
        .bind(i64::try_from(limit).unwrap_or(50))
        .bind(filter.target.as_ref().map(|t| t.as_str()))
        .bind(filter.text.as_deref())
        .bind(filter.upto.map(|offset| offset.0))
        .bind(filter.created_since.map(instant::to_millis))
        .bind(filter.label.as_deref())
        .fetch_all(&inner.pool)
        .await?;
    let ends = |r: &PgRow| -> sqlx::Result<(Option<i64>, i64)> { Ok((r.try_get(15)?, r.try_get(16)?)) };
    let (end, looked) = rows.first().map(ends).transpose()?.unwrap_or((None, 0));
    let found: Vec<DeadRow> = rows
        .iter()
        .filter(|r| r.try_get::<Option<i64>, _>(0).is_ok_and(|seq| seq.is_some()))
        .map(dead_row)
        .collect::<sqlx::Result<_>>()?;
    let next = match found.last() {
        Some(last) if found.len() == limit => Some(last.offset.0),
        Some(_) | None => end.filter(|_| looked == reach),
    };
    Ok((Page { rows: found, next: next.map(|seq| seq.to_string()) }, looked))
}

pub(crate) async fn count_dead(inner: &Inner, filter: &DeadFilter) -> sqlx::Result<u64> {
    row::many(&counted(inner, filter, filter.source()).await?, 0)
}

/// How many there are and the newest, found by walking over no more than what the filter needs.
pub(crate) async fn matching_dead(inner: &Inner, filter: &DeadFilter) -> sqlx::Result<Matching<Offset>> {
    let source = match filter.source() {
        // A group does not know which of its letters is the newest.
        DeadSource::Groups | DeadSource::Letters => DeadSource::Letters,
        DeadSource::Jobs => DeadSource::Jobs,
    };
    let row = counted(inner, filter, source).await?;
    Ok(Matching { count: row::many(&row, 0)?, newest: row.try_get::<Option<i64>, _>(1)?.map(Offset) })
}

/// The one row of a count, made from this source.
async fn counted(inner: &Inner, filter: &DeadFilter, source: DeadSource) -> sqlx::Result<PgRow> {
    let (codes, workload) = (filter.code.map(Code::names), filter.workload.as_ref().map(|w| w.as_str()));
    let (state, group) =
        (filter.state.unwrap_or(DeadState::Open).as_str(), filter.group.as_ref().map(|g| g.as_str()));
    let (since, until) = (filter.since.map(instant::to_millis), filter.until.map(instant::to_millis));
    let upto = filter.upto.map(|offset| offset.0);
    let question = match source {
        DeadSource::Groups => sqlx::query(inner.sql.dead_count_groups.text()).bind(codes).bind(workload),
        DeadSource::Letters => sqlx::query(inner.sql.dead_count_letters.text())
            .bind(state)
            .bind(codes)
            .bind(workload)
            .bind(group)
            .bind(since)
            .bind(until)
            .bind(upto),
        DeadSource::Jobs => sqlx::query(inner.sql.dead_count.text())
            .bind(state)
            .bind(codes)
            .bind(workload)
            .bind(group)
            .bind(filter.owner.as_ref().map(|o| o.as_str()))
            .bind(since)
            .bind(until)
            .bind(filter.target.as_ref().map(|t| t.as_str()))
            .bind(filter.text.as_deref())
            .bind(upto)
            .bind(filter.created_since.map(instant::to_millis))
            .bind(filter.label.as_deref()),
    };
    question.fetch_one(&inner.pool).await
}

pub(crate) async fn groups(
    inner: &Inner,
    filter: &GroupFilter,
    page: &PageRequest,
) -> Result<Page<GroupRow>, Fault> {
    let limit = page.rows();
    let after = page.after::<GroupCursor>()?;
    let rows = sqlx::query(inner.sql.groups.text())
        .bind(filter.state.map(GroupState::as_str))
        .bind(filter.workload.as_ref().map(|w| w.as_str()))
        .bind(after.as_ref().map(|c| c.seen))
        .bind(after.as_ref().map(|c| c.fingerprint.as_str()))
        .bind(i64::try_from(limit).unwrap_or(50))
        .bind(filter.fingerprint.as_ref().map(Fingerprint::as_str))
        .bind(filter.code.map(Code::names))
        .fetch_all(&inner.pool)
        .await?;
    let read = |r: &PgRow| {
        Ok(GroupRow {
            fingerprint: row::checked(r, 0, str::parse::<Fingerprint>)?,
            workload: row::checked(r, 1, str::parse::<WorkloadName>)?,
            code: row::code(r, 2)?.unwrap_or(Code::Unknown),
            target: r.try_get::<Option<String>, _>(3)?.and_then(|t| Target::new(t).ok()),
            message: r.try_get(4)?,
            sample: row::job(r, 5)?,
            state: row::word(r, 6, GroupState::parse)?,
            first_seen: row::at(r, 7)?,
            last_seen: row::at(r, 8)?,
            failures: row::many(r, 9)?,
            open: row::many(r, 10)?,
        })
    };
    let found: Vec<GroupRow> = rows.iter().map(read).collect::<sqlx::Result<_>>()?;
    let next = found
        .last()
        .filter(|_| found.len() == limit)
        .map(|last| format!("{}-{}", instant::to_millis(last.last_seen), last.fingerprint));
    Ok(Page { rows: found, next })
}

struct GroupCursor {
    seen: i64,
    fingerprint: String,
}

impl std::str::FromStr for GroupCursor {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (seen, fingerprint) = text.split_once('-').ok_or(())?;
        Ok(Self { seen: seen.parse().map_err(|_| ())?, fingerprint: fingerprint.to_owned() })
    }
}

//! Dead letters and failure groups.

use redrive_model::decide::DeadReason;
use redrive_model::fingerprint::Fingerprint;
use redrive_model::group::GroupState;
use redrive_model::{Code, JobId, Offset, Target, WorkloadName, instant};
use redrive_store::{
    DeadFilter, DeadRow, DeadSource, DeadState, GroupFilter, GroupRow, Matching, Page, PageRequest, Result,
};
use rusqlite::{Connection, Row, ToSql, named_params, params};

use super::List;
use crate::row::{self, blob};
use crate::sql::{self, scan};
use crate::verb::record::{find, list};

fn dead_row(row: &Row<'_>) -> rusqlite::Result<DeadRow> {
    Ok(DeadRow {
        offset: Offset(row.get(0)?),
        job: row::job(row, 1)?,
        generation: row.get(2)?,
        workload: row::checked(row, 3, str::parse::<WorkloadName>)?,
        owner: row::owner(row, 4)?,
        reason: row::word(row, 5, DeadReason::parse)?,
        code: row::code(row, 6)?.unwrap_or(Code::Unknown),
        message: row.get(7)?,
        attempts: row.get(8)?,
        fingerprint: row::checked(row, 9, str::parse::<Fingerprint>)?,
        state: row::word(row, 10, DeadState::parse)?,
        at: row::at(row, 11)?,
        closed_at: row::opt_at(row, 12)?,
        replay: row::replay(row, 13)?,
        previous: row.get::<_, Option<i64>>(14)?.map(Offset),
    })
}

pub(crate) fn dead_letter(conn: &Connection, offset: Offset) -> Result<Option<DeadRow>> {
    find(conn, sql::DEAD, params![offset.0], dead_row)
}

pub(crate) fn dead_letters_of(conn: &Connection, job: JobId) -> Result<Vec<DeadRow>> {
    list(conn, sql::DEAD_OF_JOB, params![blob(job.as_uuid())], dead_row)
}

pub(crate) fn dead_letters(
    conn: &Connection,
    filter: &DeadFilter,
    page: &PageRequest,
) -> Result<Page<DeadRow>> {
    let before = page.after::<i64>()?;
    let open = filter.state.is_none_or(|state| state == DeadState::Open);
    let scan = if filter.group.is_some() && open { scan::DEAD_GROUP } else { scan::DEAD_NEWEST };
    let scan = &sql::in_order(scan, filter.oldest_first);
    let statement = sql::in_order(&sql::DEAD_LIST.replace("{scan}", scan), filter.oldest_first);
    let bound = i64::try_from(page.rows()).unwrap_or(50);
    let params = Params::new(filter);
    let mut named = params.named();
    named.extend_from_slice(named_params! { ":before": before, ":limit": bound });
    let last = if filter.oldest_first { "max(seq)" } else { "min(seq)" };
    List { scan, statement: &statement, last }.page(
        conn,
        &named,
        page,
        |row| Ok((dead_row(row)?, row.get::<_, i64>(15)?, row.get(16)?)),
        |letter| letter.offset.0,
        |row| row.get(0),
    )
}

pub(crate) fn count_dead(conn: &Connection, filter: &DeadFilter) -> Result<u64> {
    let statement = match filter.source() {
        DeadSource::Groups => sql::DEAD_COUNT_GROUPS,
        DeadSource::Letters => sql::DEAD_COUNT_LETTERS,
        DeadSource::Jobs => sql::DEAD_COUNT,
    };
    let params = Params::new(filter);
    let n = find(conn, statement, &*params.used_by(statement), |row| row.get::<_, i64>(0))?;
    Ok(u64::try_from(n.unwrap_or(0)).unwrap_or(0))
}

/// How many there are and the newest, found by walking over no more than what the filter needs.
pub(crate) fn matching_dead(conn: &Connection, filter: &DeadFilter) -> Result<Matching<Offset>> {
    let statement = match filter.source() {
        // A group does not know which of its letters is the newest.
        DeadSource::Groups | DeadSource::Letters => sql::DEAD_COUNT_LETTERS,
        DeadSource::Jobs => sql::DEAD_COUNT,
    };
    let params = Params::new(filter);
    let read = |row: &Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, Option<i64>>(1)?));
    let (n, newest) = find(conn, statement, &*params.used_by(statement), read)?.unwrap_or((0, None));
    Ok(Matching { count: u64::try_from(n).unwrap_or(0), newest: newest.map(Offset) })
}

/// A filter as SQLite's parameters.
struct Params<'a> {
    state: &'static str,
    codes: Option<String>,
    workload: Option<&'a str>,
    group: Option<&'a str>,
    owner: Option<&'a str>,
    since: Option<i64>,
    until: Option<i64>,
    target: Option<&'a str>,
    text: Option<&'a str>,
    created: Option<i64>,
    label: Option<&'a str>,
    upto: Option<i64>,
}

impl<'a> Params<'a> {
    fn new(filter: &'a DeadFilter) -> Self {
        Self {
            state: filter.state.unwrap_or(DeadState::Open).as_str(),
            codes: filter.code.map(super::names),
            workload: filter.workload.as_ref().map(|w| w.as_str()),
            group: filter.group.as_ref().map(|g| g.as_str()),
            owner: filter.owner.as_ref().map(|o| o.as_str()),
            since: filter.since.map(instant::to_millis),
            until: filter.until.map(instant::to_millis),
            target: filter.target.as_ref().map(|t| t.as_str()),
            text: filter.text.as_deref(),
            created: filter.created_since.map(instant::to_millis),
            label: filter.label.as_deref(),
            upto: filter.upto.map(|offset| offset.0),
        }
    }

    fn named(&self) -> Vec<(&str, &dyn ToSql)> {
        named_params! {
            ":state": self.state, ":codes": self.codes, ":workload": self.workload, ":group": self.group,
            ":owner": self.owner, ":since": self.since, ":until": self.until, ":target": self.target, ":text": self.text,
            ":upto": self.upto, ":created": self.created, ":label": self.label,
        }
        .to_vec()
    }

    /// Those that a statement has: SQLite refuses others.
    fn used_by(&self, statement: &str) -> Vec<(&str, &dyn ToSql)> {
        let mut named = self.named();
        named.retain(|(name, _)| statement.contains(name));
        named
    }
}

pub(crate) fn groups(conn: &Connection, filter: &GroupFilter, page: &PageRequest) -> Result<Page<GroupRow>> {
    let limit = page.rows();
    let after = page.after::<GroupCursor>()?;
    let (seen, fingerprint) = after.map_or((None, None), |c| (Some(c.seen), Some(c.fingerprint)));
    let bound = i64::try_from(limit).unwrap_or(50);
    let state = filter.state.map(GroupState::as_str);
    let workload = filter.workload.as_ref().map(|w| w.as_str());
    let one = filter.fingerprint.as_ref().map(Fingerprint::as_str);
    let codes = filter.code.map(super::names);
    let named = named_params! {
        ":state": state, ":fingerprint": one, ":workload": workload, ":seen": seen, ":after": fingerprint, ":codes": codes,
        ":limit": bound,
    };
    let rows = list(conn, sql::GROUPS, named, |row| {
        Ok(GroupRow {
            fingerprint: row::checked(row, 0, str::parse::<Fingerprint>)?,
            workload: row::checked(row, 1, str::parse::<WorkloadName>)?,
            code: row::code(row, 2)?.unwrap_or(Code::Unknown),
            target: row.get::<_, Option<String>>(3)?.and_then(|t| Target::new(t).ok()),
            message: row.get(4)?,
            sample: row::job(row, 5)?,
            state: row::word(row, 6, GroupState::parse)?,
            first_seen: row::at(row, 7)?,
            last_seen: row::at(row, 8)?,
            failures: u64::try_from(row.get::<_, i64>(9)?).unwrap_or(0),
            open: u64::try_from(row.get::<_, i64>(10)?).unwrap_or(0),
        })
    })?;
    let next = rows
        .last()
        .filter(|_| rows.len() == limit)
        .map(|last| format!("{}-{}", instant::to_millis(last.last_seen), last.fingerprint));
    Ok(Page { rows, next })
}

struct GroupCursor {
    seen: i64,
    fingerprint: String,
}

impl std::str::FromStr for GroupCursor {
    type Err = ();

    fn from_str(text: &str) -> std::result::Result<Self, ()> {
        let (seen, fingerprint) = text.split_once('-').ok_or(())?;
        Ok(Self { seen: seen.parse().map_err(|_| ())?, fingerprint: fingerprint.to_owned() })
    }
}

//! The question of a list, checked: what cannot be meant is refused with the field's name.

use redrive_api::ListQuery;
use redrive_model::limits::MAX_NAME_BYTES;
use redrive_model::{BatchId, Code, JobId, Shown, Target, WorkerId};
use redrive_store::{JobFilter, PageRequest};

use url::form_urlencoded;

use crate::own::is_of_batches;
use crate::query;
use crate::refusal::Refusal;

/// What a list of jobs can be asked for, where something else was.
pub(crate) const KNOWN: &str = "The query can hold workload, batch, members, status, code, q, since, ended_since, target, worker, limit and cursor.";

/// Reads the question. Each name stands in it once, but for the states, of which there may be several.
pub(crate) fn read(query: Option<&str>, unknown: &str) -> Result<ListQuery, Refusal> {
    let mut asked = ListQuery::default();
    for (name, value) in form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
        let place = match &*name {
            "workload" => &mut asked.workload,
            "batch" => &mut asked.batch,
            "members" => &mut asked.members,
            "status" => &mut asked.status,
            "code" => &mut asked.code,
            "q" => &mut asked.q,
            "since" => &mut asked.since,
            "ended_since" => &mut asked.ended_since,
            "target" => &mut asked.target,
            "worker" => &mut asked.worker,
            "limit" => &mut asked.limit,
            "cursor" => &mut asked.cursor,
            _ => return Err(Refusal::new(Code::ValidationUnknownField, unknown)),
        };
        match place {
            Some(states) if name == "status" => {
                states.push(',');
                states.push_str(&value);
            }
            place => query::once(place, &name, &value)?,
        }
    }
    Ok(asked)
}

/// The shown states that a list of words names, with commas between them.
pub(crate) fn states(words: &str) -> Result<Vec<Shown>, Refusal> {
    let words = words.split(',').map(str::trim).filter(|word| !word.is_empty());
    let state = |word| Shown::parse(word).ok_or_else(|| Refusal::field("status", "is no state of a job"));
    words.map(state).collect()
}

/// The filter and the page. An empty value is as good as none. Members of batches are left out unless somebody asks for them: a
/// million downloads would hide everything else.
pub(crate) fn parse(query: ListQuery) -> Result<(JobFilter, PageRequest), Refusal> {
    let batch = query::given(query.batch)
        .map(|id| id.parse::<BatchId>().map_err(|_| Refusal::field("batch", "is no id of a batch")))
        .transpose()?;
    let target = query::given(query.target)
        .map(|name| Target::new(name).map_err(|_| Refusal::field("target", "is no name of a target")))
        .transpose()?;
    let worker = query::given(query.worker)
        .map(|id| id.parse::<WorkerId>().map_err(|_| Refusal::field("worker", "is no id of a worker")))
        .transpose()?;
    let text = query::given(query.q);
    if text.as_ref().is_some_and(|text| text.len() > MAX_NAME_BYTES) {
        return Err(Refusal::field("q", "at most 255 bytes"));
    }
    let workload = query::workload(query.workload)?;
    let members = batch.is_some()
        || worker.is_some()
        || target.is_some()
        || query::flag("members", query.members)?
        || workload.as_ref().is_some_and(is_of_batches)
        || text.as_ref().is_some_and(|text| text.parse::<JobId>().is_ok());
    let filter = JobFilter {
        workload,
        batch,
        single: !members,
        shown: states(query.status.as_deref().unwrap_or_default())?,
        code: query::code(query.code)?,
        since: query::instant("since", query.since)?,
        ended_since: query::instant("ended_since", query.ended_since)?,
        target,
        worker,
        text,
        ..JobFilter::default()
    };
    let page =
        PageRequest { limit: query::limit(query.limit)?, cursor: query::cursor::<JobId>(query.cursor)? };
    Ok((filter, page))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_meant_is_refused_and_what_is_large_is_cut() {
        let query = |change: fn(&mut ListQuery)| {
            let mut query = ListQuery::default();
            change(&mut query);
            parse(query)
        };
        assert!(query(|q| q.status = Some("waiting_retry".into())).is_ok());
        assert!(query(|q| q.code = Some("gw_timeout".into())).is_ok());
        assert!(query(|q| q.since = Some("2026-01-01T00:00:00Z".into())).is_ok());
        let day = query(|q| q.since = Some("2026-01-01".into())).unwrap().0.since;
        assert_eq!(day, "2026-01-01T00:00:00Z".parse().ok());
        assert_eq!(query(|q| q.limit = Some("1000000000".into())).unwrap().1.rows(), 200);
        assert_eq!(query(|_| {}).unwrap().1.rows(), 50);
        assert!(query(|q| q.status = Some(String::new())).is_ok());
        let some = query(|q| q.status = Some("failed, held,".into())).unwrap().0.shown;
        assert_eq!(some, [Shown::Failed, Shown::Held]);
        for bad in [
            query(|q| q.status = Some("uploaded".into())),
            query(|q| q.status = Some("failed,uploaded".into())),
            query(|q| q.code = Some("NOPE".into())),
            query(|q| q.since = Some("yesterday".into())),
            query(|q| q.ended_since = Some("yesterday".into())),
            query(|q| q.limit = Some("0".into())),
            query(|q| q.limit = Some("-1".into())),
            query(|q| q.cursor = Some("'; DROP TABLE jobs".into())),
            query(|q| q.workload = Some("A B".into())),
            query(|q| q.q = Some("x".repeat(256))),
            query(|q| q.members = Some("perhaps".into())),
            query(|q| q.worker = Some("somebody".into())),
            query(|q| q.target = Some("no name".into())),
        ] {
            assert!(bad.is_err_and(|refusal| refusal.code().starts_with("VALIDATION_")));
        }
    }

    #[test]
    fn members_of_batches_are_listed_for_whom_asks_for_them() {
        let id = "0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b";
        for (asked, single) in [
            ("", true),
            ("status=failed&code=DOWNLOAD_TIMEOUT", true),
            ("workload=convert", true),
            ("members=false", true),
            ("members=true", false),
            ("workload=fetch", false),
            ("workload=intake.part", false),
            ("workload=intake", true),
            (&format!("batch={id}"), false),
            (&format!("q={id}"), false),
            ("target=host:a.example:443&status=held", false),
            (&format!("worker={id}"), false),
        ] {
            let (filter, _) = parse(read(Some(asked), "").unwrap()).unwrap();
            assert_eq!(filter.single, single, "{asked}");
        }
    }

    #[test]
    fn states_may_be_given_several_times_and_everything_else_once() {
        let query = read(Some("status=failed&q=a%2Cb&status=held%2Cqueued&limit=5"), "").unwrap();
        assert_eq!(query.status.as_deref(), Some("failed,held,queued"));
        assert_eq!((query.q.as_deref(), query.limit.as_deref()), (Some("a,b"), Some("5")));
        assert_eq!(read(None, "").unwrap(), ListQuery::default());
        for (bad, code) in [
            ("q=a&q=b", "VALIDATION_INVALID_FIELD"),
            ("limit=1&limit=2", "VALIDATION_INVALID_FIELD"),
            ("owner=ann", "VALIDATION_UNKNOWN_FIELD"),
        ] {
            assert_eq!(read(Some(bad), "no").unwrap_err().code(), code, "{bad}");
        }
    }
}

//! The question of a list, checked: what cannot be meant is refused with the field's name.

use redrive_api::ListQuery;
use redrive_model::limits::{MAX_NAME_BYTES, MAX_PAGE};
use redrive_model::{BatchId, Code, JobId, Shown, Timestamp, WorkloadName};
use redrive_store::{JobFilter, PageRequest};

use url::form_urlencoded;

use crate::refusal::Refusal;

/// Reads the question. Each name stands in it once, but for the states, of which there may be several.
pub(crate) fn read(query: Option<&str>, unknown: &str) -> Result<ListQuery, Refusal> {
    let mut asked = ListQuery::default();
    for (name, value) in form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
        let place = match &*name {
            "workload" => &mut asked.workload,
            "batch" => &mut asked.batch,
            "status" => &mut asked.status,
            "code" => &mut asked.code,
            "q" => &mut asked.q,
            "since" => &mut asked.since,
            "limit" => &mut asked.limit,
            "cursor" => &mut asked.cursor,
            _ => return Err(Refusal::new(Code::ValidationUnknownField, unknown)),
        };
        match place {
            None => *place = Some(value.into_owned()),
            Some(states) if name == "status" => {
                states.push(',');
                states.push_str(&value);
            }
            Some(_) => return Err(Refusal::field(&name, "is there twice")),
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

/// The filter and the page. An empty value is as good as none.
pub(crate) fn parse(query: ListQuery) -> Result<(JobFilter, PageRequest), Refusal> {
    let given = |value: Option<String>| value.filter(|text| !text.is_empty());
    let workload = given(query.workload)
        .map(|name| {
            WorkloadName::new(name).map_err(|_| Refusal::field("workload", "is no name of a workload"))
        })
        .transpose()?;
    let batch = given(query.batch)
        .map(|id| id.parse::<BatchId>().map_err(|_| Refusal::field("batch", "is no id of a batch")))
        .transpose()?;
    let shown = states(query.status.as_deref().unwrap_or_default())?;
    let code = given(query.code)
        .map(|name| {
            Code::parse(&name.to_ascii_uppercase())
                .ok_or_else(|| Refusal::field("code", "is no failure code"))
        })
        .transpose()?;
    let since = given(query.since)
        .map(|text| text.parse::<Timestamp>().map_err(|_| Refusal::field("since", "is no RFC 3339 instant")))
        .transpose()?;
    let text = given(query.q);
    if text.as_ref().is_some_and(|text| text.len() > MAX_NAME_BYTES) {
        return Err(Refusal::field("q", "at most 255 bytes"));
    }
    let limit = match given(query.limit) {
        None => 0,
        Some(text) => match text.parse::<u64>() {
            Ok(0) | Err(_) => return Err(Refusal::field("limit", "is no number from 1")),
            Ok(limit) => usize::try_from(limit).unwrap_or(MAX_PAGE).min(MAX_PAGE),
        },
    };
    let cursor = given(query.cursor);
    if cursor.as_ref().is_some_and(|cursor| cursor.parse::<JobId>().is_err()) {
        let text = "The cursor is not one of ours: start from the first page.";
        return Err(Refusal::new(Code::ValidationCursor, text));
    }
    let filter = JobFilter { workload, batch, shown, code, since, text, ..JobFilter::default() };
    Ok((filter, PageRequest { limit, cursor }))
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
            query(|q| q.limit = Some("0".into())),
            query(|q| q.limit = Some("-1".into())),
            query(|q| q.cursor = Some("'; DROP TABLE jobs".into())),
            query(|q| q.workload = Some("A B".into())),
            query(|q| q.q = Some("x".repeat(256))),
        ] {
            assert!(bad.is_err_and(|refusal| refusal.code().starts_with("VALIDATION_")));
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

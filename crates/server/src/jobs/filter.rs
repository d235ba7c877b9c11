//! The question of a list, checked: what cannot be meant is refused with the field's name.

use redrive_api::ListQuery;
use redrive_model::limits::{MAX_NAME_BYTES, MAX_PAGE};
use redrive_model::{Code, JobId, Shown, Timestamp, WorkloadName};
use redrive_store::{JobFilter, PageRequest};

use crate::refusal::Refusal;

/// The filter and the page. An empty value is as good as none.
pub(crate) fn parse(query: ListQuery) -> Result<(JobFilter, PageRequest), Refusal> {
    let given = |value: Option<String>| value.filter(|text| !text.is_empty());
    let workload = given(query.workload)
        .map(|name| {
            WorkloadName::new(name).map_err(|_| Refusal::field("workload", "is no name of a workload"))
        })
        .transpose()?;
    let shown = given(query.status)
        .map(|word| Shown::parse(&word).ok_or_else(|| Refusal::field("status", "is no state of a job")))
        .transpose()?;
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
    let filter = JobFilter { workload, shown, code, since, text, ..JobFilter::default() };
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
        for bad in [
            query(|q| q.status = Some("uploaded".into())),
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
}

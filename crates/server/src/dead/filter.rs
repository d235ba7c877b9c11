//! Which dead letters are asked for.

use redrive_api::DeadQuery;
use redrive_model::fingerprint::Fingerprint;
use redrive_model::{Code, Owner};
use redrive_store::{DeadFilter, DeadState, PageRequest};
use url::form_urlencoded;

use crate::query;
use crate::refusal::Refusal;

const KNOWN: &str = "The query can hold code, workload, group, owner, since, until, state, limit and cursor.";

/// Reads the question. Each name stands in it once.
pub(super) fn read(text: Option<&str>) -> Result<DeadQuery, Refusal> {
    let mut asked = DeadQuery::default();
    for (name, value) in form_urlencoded::parse(text.unwrap_or_default().as_bytes()) {
        let place = match &*name {
            "code" => &mut asked.code,
            "workload" => &mut asked.workload,
            "group" => &mut asked.group,
            "owner" => &mut asked.owner,
            "since" => &mut asked.since,
            "until" => &mut asked.until,
            "state" => &mut asked.state,
            "limit" => &mut asked.limit,
            "cursor" => &mut asked.cursor,
            _ => return Err(Refusal::new(Code::ValidationUnknownField, KNOWN)),
        };
        query::once(place, &name, &value)?;
    }
    Ok(asked)
}

/// The filter and the page.
pub(super) fn parse(asked: DeadQuery) -> Result<(DeadFilter, PageRequest), Refusal> {
    let group = |text: String| {
        text.parse::<Fingerprint>()
            .map_err(|_| Refusal::field("group", "is no fingerprint of a failure group"))
    };
    let owner =
        |text: String| Owner::new(text).map_err(|_| Refusal::field("owner", "is no name of an owner"));
    let state = |word: String| {
        DeadState::parse(&word).ok_or_else(|| Refusal::field("state", "is none of open, replayed, discarded"))
    };
    let filter = DeadFilter {
        code: query::code(asked.code)?,
        workload: query::workload(asked.workload)?,
        group: query::given(asked.group).map(group).transpose()?,
        owner: query::given(asked.owner).map(owner).transpose()?,
        since: query::instant("since", asked.since)?,
        until: query::instant("until", asked.until)?,
        state: query::given(asked.state).map(state).transpose()?,
        ..DeadFilter::default()
    };
    let page = PageRequest { limit: query::limit(asked.limit)?, cursor: query::cursor::<i64>(asked.cursor)? };
    Ok((filter, page))
}

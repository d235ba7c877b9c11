//! Words of a question that several lists know. What cannot be meant is refused with the field's name; an empty value is as good
//! as none.

use std::str::FromStr;

use redrive_api::PageQuery;
use redrive_model::limits::MAX_PAGE;
use redrive_model::{Code, Timestamp, WorkloadName};
use redrive_store::PageRequest;
use url::form_urlencoded;

use crate::refusal::Refusal;

/// A value, unless it is empty.
pub(crate) fn given(value: Option<String>) -> Option<String> {
    value.filter(|text| !text.is_empty())
}

/// Puts a value in its place; each name stands in a question once.
pub(crate) fn once(place: &mut Option<String>, name: &str, value: &str) -> Result<(), Refusal> {
    match place {
        Some(_) => Err(Refusal::field(name, "is there twice")),
        None => {
            *place = Some(value.to_owned());
            Ok(())
        }
    }
}

/// A workload's name.
pub(crate) fn workload(value: Option<String>) -> Result<Option<WorkloadName>, Refusal> {
    let name =
        |name| WorkloadName::new(name).map_err(|_| Refusal::field("workload", "is no name of a workload"));
    given(value).map(name).transpose()
}

/// A failure code, in capitals or not.
pub(crate) fn code(value: Option<String>) -> Result<Option<Code>, Refusal> {
    let code = |name: String| {
        Code::parse(&name.to_ascii_uppercase()).ok_or_else(|| Refusal::field("code", "is no failure code"))
    };
    given(value).map(code).transpose()
}

/// An instant, or the beginning of a day in UTC.
pub(crate) fn instant(name: &str, value: Option<String>) -> Result<Option<Timestamp>, Refusal> {
    let instant = |text: String| {
        let is_day = text.len() == "2026-01-31".len();
        let text = if is_day { format!("{text}T00:00:00Z") } else { text };
        let wrong = "is no RFC 3339 instant, such as 2026-01-31T08:00:00Z, and no day";
        text.parse::<Timestamp>().map_err(|_| Refusal::field(name, wrong))
    };
    given(value).map(instant).transpose()
}

/// Yes or no; no unless said.
pub(crate) fn flag(name: &str, value: Option<String>) -> Result<bool, Refusal> {
    let flag = |text: String| text.parse().map_err(|_| Refusal::field(name, "is true or false"));
    given(value).map_or(Ok(false), flag)
}

/// How many rows; 0 is the usual number, and what is too large is cut.
pub(crate) fn limit(value: Option<String>) -> Result<usize, Refusal> {
    let Some(text) = given(value) else { return Ok(0) };
    match text.parse::<u64>() {
        Ok(0) | Err(_) => Err(Refusal::field("limit", "is no number from 1")),
        Ok(limit) => Ok(usize::try_from(limit).unwrap_or(MAX_PAGE).min(MAX_PAGE)),
    }
}

/// Where the page before ended.
pub(crate) fn cursor<T: std::str::FromStr>(value: Option<String>) -> Result<Option<String>, Refusal> {
    let cursor = given(value);
    if cursor.as_ref().is_some_and(|cursor| cursor.parse::<T>().is_err()) {
        let text = "The cursor is not one of ours: start from the first page.";
        return Err(Refusal::new(Code::ValidationCursor, text));
    }
    Ok(cursor)
}

/// The question of a list that knows no other words than which part of it.
pub(crate) fn page(text: Option<&str>) -> Result<PageQuery, Refusal> {
    let mut asked = PageQuery::default();
    for (name, value) in form_urlencoded::parse(text.unwrap_or_default().as_bytes()) {
        let place = match &*name {
            "limit" => &mut asked.limit,
            "cursor" => &mut asked.cursor,
            _ => {
                let known = "The query can hold limit and cursor.";
                return Err(Refusal::new(Code::ValidationUnknownField, known));
            }
        };
        once(place, &name, &value)?;
    }
    Ok(asked)
}

/// One page of rows that are all in memory, in the order of their keys, and the key behind which the next one starts.
pub(crate) fn cut<T, K>(
    mut rows: Vec<T>,
    asked: PageQuery,
    key: impl Fn(&T) -> K,
) -> Result<(Vec<T>, Option<String>), Refusal>
where
    K: Ord + FromStr + ToString,
{
    let limit = PageRequest { limit: limit(asked.limit)?, cursor: None }.rows();
    let after = cursor::<K>(asked.cursor)?.and_then(|text| text.parse::<K>().ok());
    rows.sort_by_cached_key(&key);
    rows.retain(|row| after.as_ref().is_none_or(|after| key(row) > *after));
    let more = rows.len() > limit;
    rows.truncate(limit);
    let next = rows.last().filter(|_| more).map(|row| key(row).to_string());
    Ok((rows, next))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instant_may_be_a_day_and_rubbish_names_its_field() {
        let at = |text: &str| instant("until", Some(text.to_owned()));
        assert_eq!(at("2026-01-31").unwrap(), "2026-01-31T00:00:00Z".parse().ok());
        assert_eq!(at("2026-01-31T09:00:00+01:00").unwrap(), "2026-01-31T08:00:00Z".parse().ok());
        assert_eq!(at("").unwrap(), None);
        for rubbish in ["yesterday", "7d", "2026-02-30", "-1", "99999-01-01T00:00:00Z", "2026-01-31T08:00:00"]
        {
            let refusal = at(rubbish).unwrap_err();
            assert_eq!(refusal.code(), "VALIDATION_INVALID_FIELD", "{rubbish}");
            assert!(refusal.problem().detail.starts_with("until: "), "{refusal:?}");
        }
    }

    #[test]
    fn pages_of_what_is_in_memory_give_each_row_once_in_order() {
        let rows = || vec![5u32, 3, 9, 1, 7];
        let part = |limit: &str, cursor: Option<&str>| {
            let asked = PageQuery { limit: Some(limit.to_owned()), cursor: cursor.map(str::to_owned) };
            cut(rows(), asked, |row| *row)
        };
        assert_eq!(part("2", None).unwrap(), (vec![1, 3], Some("3".to_owned())));
        assert_eq!(part("2", Some("3")).unwrap(), (vec![5, 7], Some("7".to_owned())));
        assert_eq!(part("2", Some("7")).unwrap(), (vec![9], None));
        assert_eq!(part("5", None).unwrap().1, None, "the last page is known as such");
        // A row that is gone since takes nothing with it.
        assert_eq!(part("1", Some("4")).unwrap().0, [5]);
        assert_eq!(part("2", Some("x")).unwrap_err().code(), "VALIDATION_CURSOR");
        assert_eq!(part("0", None).unwrap_err().code(), "VALIDATION_INVALID_FIELD");
    }
}

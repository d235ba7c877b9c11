//! Words of a question that several lists know. What cannot be meant is refused with the field's name; an empty value is as good
//! as none.

use redrive_model::limits::MAX_PAGE;
use redrive_model::{Code, Timestamp, WorkloadName};

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

/// An instant.
pub(crate) fn instant(name: &str, value: Option<String>) -> Result<Option<Timestamp>, Refusal> {
    let instant =
        |text: String| text.parse::<Timestamp>().map_err(|_| Refusal::field(name, "is no RFC 3339 instant"));
    given(value).map(instant).transpose()
}

/// An instant, or the beginning of a day in UTC.
pub(crate) fn day_or_instant(name: &str, value: Option<String>) -> Result<Option<Timestamp>, Refusal> {
    let day = given(value.clone()).filter(|text| text.len() == "2026-01-31".len());
    match day {
        Some(day) => instant(name, Some(format!("{day}T00:00:00Z"))),
        None => instant(name, value),
    }
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

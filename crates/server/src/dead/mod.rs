//! Dead letters, for operators: pages of them, one of them, and all of them in one stream.

mod export;
mod filter;
mod view;

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, RawQuery, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use redrive_api::{DeadLetter, DeadLetterList, DeadQuery, NDJSON, PROTOBUF, Problem};
use redrive_fetch::wire::Message;
use redrive_model::{Code, Offset};

use crate::app::App;
use crate::operator::Operator;
use crate::refusal::Refusal;

/// How the answer is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Json,
    Lines,
    Protobuf,
}

impl Form {
    /// The first form that the client names and we know; JSON where it names none.
    fn of(headers: &HeaderMap) -> Self {
        let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let name = |part: &str| part.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        let known = accept.split(',').find_map(|part| match name(part).as_str() {
            "application/json" => Some(Self::Json),
            NDJSON => Some(Self::Lines),
            PROTOBUF | "application/protobuf" => Some(Self::Protobuf),
            _ => None,
        });
        known.unwrap_or(Self::Json)
    }
}

/// Dead letters, newest first. With `Accept: application/x-ndjson` or `application/x-protobuf` all that match, oldest first, as one stream: an
/// object per line, or messages each behind its length as a varint.
#[utoipa::path(get, path = "/api/dead-letters", tag = "operators", params(DeadQuery), responses(
    (status = 200, content((DeadLetterList = "application/json"), (DeadLetter = "application/x-ndjson"), (Vec<u8> = "application/x-protobuf"))),
    (status = 400, description = "VALIDATION_*", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn list(
    State(app): State<App>,
    operator: Operator,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
) -> Result<Response, Refusal> {
    let asked = filter::read(query.as_deref())?;
    let form = Form::of(&headers);
    if form != Form::Json {
        if asked.limit.is_some() || asked.cursor.is_some() {
            let text =
                "This form is everything that matches, in one stream: limit and cursor are for JSON pages.";
            return Err(Refusal::new(Code::ValidationInvalidField, text));
        }
        let (filter, _) = filter::parse(asked)?;
        return export::stream(&app, operator, filter, form).await;
    }
    let (filter, page) = filter::parse(asked)?;
    let total = match &page.cursor {
        None => Some(app.desk().count_dead(operator, filter.clone()).await?),
        Some(_) => None,
    };
    let page = app.desk().dead_letters(operator, filter, page).await?;
    let letters = app.desk().letters(operator, &page.rows).await?;
    let dead_letters = page.rows.iter().zip(letters).map(|(row, sent)| view::letter(row, sent)).collect();
    Ok(Json(DeadLetterList { dead_letters, total, next_cursor: page.next }).into_response())
}

/// One dead letter. With `Accept: application/x-protobuf` the message `DeadLetterTask`.
#[utoipa::path(get, path = "/api/dead-letters/{offset}", tag = "operators", params(("offset" = i64, Path, description = "Its place among the dead letters")), responses(
    (status = 200, content((DeadLetter = "application/json"), (Vec<u8> = "application/x-protobuf"))),
    (status = 404, description = "NOT_FOUND: there is no such dead letter (any more)", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn one(
    State(app): State<App>,
    operator: Operator,
    headers: HeaderMap,
    offset: Result<Path<i64>, PathRejection>,
) -> Result<Response, Refusal> {
    let Path(offset) = offset.map_err(|_| missing())?;
    let row = app.desk().dead_letter(operator, Offset(offset)).await?.ok_or_else(missing)?;
    let sent = app.desk().letters(operator, std::slice::from_ref(&row)).await?.pop().unwrap_or_default();
    Ok(match Form::of(&headers) {
        Form::Json | Form::Lines => Json(view::letter(&row, sent)).into_response(),
        Form::Protobuf => typed(PROTOBUF, sent.encode_to_vec().into_response()),
    })
}

/// One of them, as JSON.
pub(crate) async fn letter(app: &App, operator: Operator, offset: Offset) -> Result<DeadLetter, Refusal> {
    let row = app.desk().dead_letter(operator, offset).await?.ok_or_else(missing)?;
    let sent = app.desk().letters(operator, std::slice::from_ref(&row)).await?.pop().unwrap_or_default();
    Ok(view::letter(&row, sent))
}

pub(crate) fn missing() -> Refusal {
    Refusal::new(Code::NotFound, "There is no such dead letter, or it is too old and was removed.")
}

fn typed(name: &'static str, mut response: Response) -> Response {
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(name));
    response
}

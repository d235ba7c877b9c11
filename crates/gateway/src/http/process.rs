//! `POST /process` and `POST /inspect`.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};

use super::convert::{self, Done};
use super::form::{self, Form};
use super::negotiate;
use super::problem::{Code, Problem};
use super::state::Gateway;
use super::stream::Stream;
use crate::cage::Task;
use crate::convert::Warning;
use crate::write::Mapping;

const PAGES: HeaderName = HeaderName::from_static("x-pages");
const DURATION: HeaderName = HeaderName::from_static("x-duration-ms");
const WARNINGS: HeaderName = HeaderName::from_static("x-warnings");

/// Converts a file.
pub(super) async fn process(
    State(gateway): State<Arc<Gateway>>,
    request: Request,
) -> Result<Response, Problem> {
    let boundary = form::check_head(request.headers(), gateway.limit())?;
    let Some(media_type) = negotiate::xml(request.headers()) else {
        return Err(Problem::new(Code::NotAcceptable, "Accept application/xml."));
    };
    let _place = gateway.gate.enter()?;
    let form = form::read(request, &boundary, gateway.limit(), gateway.folder()).await?;
    let task = task(&form)?;
    let child = gateway.gate.child().await?;
    let done = convert::run(gateway.cage.clone(), form.file, task, Some(child)).await?;
    Ok(answer(done, media_type))
}

/// Says what a file is.
pub(super) async fn inspect(
    State(gateway): State<Arc<Gateway>>,
    request: Request,
) -> Result<Response, Problem> {
    let boundary = form::check_head(request.headers(), gateway.limit())?;
    let _place = gateway.gate.enter()?;
    let form = form::read(request, &boundary, gateway.limit(), gateway.folder()).await?;
    let child = gateway.gate.child().await?;
    let done = convert::run(gateway.cage.clone(), form.file, Task::Inspect, Some(child)).await?;
    Ok(answer(done, "application/json"))
}

fn task(form: &Form) -> Result<Task, Problem> {
    let name = form.mapping.as_deref().map(str::trim).filter(|name| !name.is_empty());
    let Some(name) = name else {
        return Err(Problem::new(Code::MissingMapping, "Name one of the mappings in the field mapping."));
    };
    let Some(mapping) = Mapping::from_name(name) else {
        let names = Mapping::ALL.map(Mapping::name).join(", ");
        return Err(Problem::new(Code::UnknownMapping, &format!("The mappings are {names}.")));
    };
    let pages = form.pages.as_deref().filter(|text| !text.trim().is_empty()).map(form::pages).transpose()?;
    Ok(Task::Convert { mapping, pages })
}

fn answer(done: Done, media_type: &'static str) -> Response {
    let summary = &done.output.summary;
    let warnings =
        summary.warnings.iter().map(|warning| Warning::as_str(*warning)).collect::<Vec<_>>().join(",");
    let (pages, took) = (summary.pages, u64::try_from(done.took.as_millis()).unwrap_or(u64::MAX));
    let body = match done.bytes {
        Some(bytes) => Body::from(bytes),
        None => Body::new(Stream::new(done.output)),
    };
    let mut response = body.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    if let Some(pages) = pages {
        headers.insert(PAGES, HeaderValue::from(pages));
    }
    headers.insert(DURATION, HeaderValue::from(took));
    // The names are ours and hold nothing that a header could not.
    if let Ok(value) = HeaderValue::try_from(warnings)
        && !value.is_empty()
    {
        headers.insert(WARNINGS, value);
    }
    response
}

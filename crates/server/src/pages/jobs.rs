//! The list: a form to look for jobs, and a table that is kept fresh.
//!
//! What changes asks for this page again, with the same question, and gets the table alone: never more than one page of rows,
//! however many jobs there are.

use axum::extract::{RawQuery, State};
use axum::http::HeaderMap;
use axum::response::Response;
use maud::{Markup, html};
use redrive_api::ListQuery;
use redrive_model::Shown;
use redrive_model::limits::MAX_REACH;
use redrive_store::ShownCount;
use url::form_urlencoded::Serializer;

use super::banner::banner;
use super::layout::{Place, Shell};
use super::row::{Line, lines};
use super::viewer::Viewer;
use super::words::{self, count};
use crate::app::App;
use crate::jobs::filter;
use crate::query;
use crate::refusal::Refusal;
use crate::session::Session;
use crate::upload::is_active;

/// The page, or its table.
pub(super) async fn page(
    State(app): State<App>,
    session: Session,
    viewer: Viewer,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let query = filter::read(query.as_deref(), filter::KNOWN)?;
    let list = List::look(&app, &session, query).await?;
    if super::wants_piece(&headers) {
        return Ok(super::html(list.table()));
    }
    let body = html! {
        @if session.is_operator() {
            h1 { "All jobs" }
            p.lead { "You are signed in as an operator: these are everybody’s jobs." }
        } @else {
            h1 { "Your jobs" }
        }
        (list.search())
        (list.table())
        @if !session.is_operator() { p.fine { a href="/forget" { "Remove everything of mine" } } }
    };
    let title = list.title();
    Ok(Shell::new(&title, viewer).at(Place::Jobs).live(banner(&app).await, "/live").page(&body))
}

/// What was asked, and what there is.
pub(super) struct List {
    query: ListQuery,
    lines: Vec<Line>,
    counts: Vec<ShownCount>,
    next: Option<String>,
    /// Kinds of job that there are, for operators.
    workloads: Option<Vec<String>>,
    /// How many dead letters the question means, where that is known at once.
    letters: Option<u64>,
}

impl List {
    pub(super) async fn look(app: &App, session: &Session, query: ListQuery) -> Result<Self, Refusal> {
        let (filter, page) = filter::parse(query.clone())?;
        let members = !filter.single;
        let page = app.desk().list(session, filter, page).await?;
        let counts = app.desk().counts(session, members).await?;
        let now = app.desk().now().await?;
        let workloads = match session.is_operator() {
            true => Some(app.desk().workloads().await?),
            false => None,
        };
        let letters = match super::desk::counted_at_once(&query).filter(|_| session.is_operator()) {
            Some(filter) => Some(app.desk().count_letters(session, filter?).await?),
            None => None,
        };
        let lines = lines(app, &page.jobs, now).await?;
        Ok(Self { query, lines, counts, next: page.next, workloads, letters })
    }

    fn of(&self, wanted: impl Fn(Shown) -> bool) -> u64 {
        self.counts.iter().filter(|count| wanted(count.shown)).map(|count| count.jobs).sum()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// How everything is, for the tab.
    fn title(&self) -> String {
        let (active, failed) = (self.of(is_active), self.of(|shown| shown == Shown::Failed));
        match (active, failed) {
            (0, 0) => "Jobs".to_owned(),
            (0, failed) => format!("{failed} failed · Jobs"),
            (active, 0) => format!("{active} active · Jobs"),
            (active, failed) => format!("{active} active, {failed} failed · Jobs"),
        }
    }

    /// The address of the same question, from here or from another place in the list.
    fn address(&self, cursor: Option<&str>) -> String {
        address(&self.query, cursor)
    }

    /// The form that asks.
    fn search(&self) -> Markup {
        let asked = filter::states(self.query.status.as_deref().unwrap_or_default()).unwrap_or_default();
        let words = |of: fn(Shown) -> &'static str, between: &str| {
            asked.iter().map(|shown| of(*shown)).collect::<Vec<_>>().join(between)
        };
        html! {
            form.search method="get" action="/jobs" role="search" {
                label for="status" { "State" }
                select #status name="status" {
                    option value="" { "All" }
                    @for shown in words::FILTERS {
                        option value=(shown) selected[asked == [*shown]] { (words::state(*shown)) }
                    }
                    // A link may ask for several at once: the form keeps them.
                    @if asked.len() > 1 {
                        option value=(words(Shown::as_str, ",")) selected { (words(words::state, ", ")) }
                    }
                }
                label for="q" { "File name" }
                input #q type="search" name="q" maxlength="255" value=(self.query.q.as_deref().unwrap_or_default());
                @if let Some(workloads) = &self.workloads { (self.narrower(workloads)) }
                button.quiet { "Show" }
                @if self.address(None) != "/jobs" { a href="/jobs" { "Show all" } }
            }
        }
    }

    /// What operators look for besides: in the same words as the API.
    fn narrower(&self, workloads: &[String]) -> Markup {
        let given = |value: &'_ Option<String>| value.clone().unwrap_or_default();
        let (workload, since) = (given(&self.query.workload), given(&self.query.since));
        // A link may ask for an instant: a field for days would forget its time.
        let is_day = since.is_empty() || since.len() == "2026-01-31".len();
        html! {
            label for="workload" { "Kind of job" }
            select #workload name="workload" {
                option value="" { "All" }
                @for name in workloads { option value=(name) selected[*name == workload] { (name) } }
                @if !workload.is_empty() && !workloads.contains(&workload) { option value=(workload) selected { (workload) } }
            }
            label for="code" { "Code" }
            input #code type="text" name="code" maxlength="64" value=(given(&self.query.code)) placeholder="GW_TIMEOUT" spellcheck="false" autocapitalize="characters";
            label for="since" { "Created since" }
            input #since type=(if is_day { "date" } else { "text" }) name="since" value=(since);
            label for="target" { "Needs target" }
            input #target type="text" name="target" maxlength="255" value=(given(&self.query.target)) placeholder="gateway" spellcheck="false" autocapitalize="none";
            // What only links ask for stays as long as somebody narrows it further.
            @for (name, value) in [("batch", &self.query.batch), ("members", &self.query.members), ("ended_since", &self.query.ended_since)] {
                @if let Some(value) = value.as_deref().filter(|value| !value.is_empty()) {
                    input type="hidden" name=(name) value=(value);
                }
            }
            @if let Some(ended) = query::instant("ended_since", self.query.ended_since.clone()).ok().flatten() {
                span.fine { "Only what ended since " (words::time(ended)) "." }
            }
            @if let Some(worker) = self.query.worker.as_deref().filter(|worker| !worker.is_empty()) {
                input type="hidden" name="worker" value=(worker);
                span.fine { "Only what worker " bdi { (worker) } " holds now." }
            }
        }
    }

    /// The part that is kept fresh. It carries its numbers, so that a script can say what changed.
    pub(super) fn table(&self) -> Markup {
        let here = self.address(self.query.cursor.as_deref());
        html! {
            section #jobs hx-get=(here) hx-trigger="jobs from:#live" hx-swap="outerMorph" data-title=(self.title())
                data-active=(self.of(is_active)) data-complete=(self.of(|shown| shown == Shown::Complete))
                data-failed=(self.of(|shown| shown == Shown::Failed)) aria-label="Jobs" {
                @if self.lines.is_empty() { (self.nothing()) } @else {
                    (self.summary())
                    table.jobs role="table" {
                        thead role="rowgroup" {
                            tr role="row" {
                                th.pick role="columnheader" scope="col" { span.unseen { "Chosen" } }
                                th role="columnheader" scope="col" { "File" }
                                th role="columnheader" scope="col" { "State" }
                                th role="columnheader" scope="col" { "What you can do" }
                            }
                        }
                        tbody role="rowgroup" { @for line in &self.lines { (line.row()) } }
                    }
                    (self.below())
                }
            }
        }
    }

    fn summary(&self) -> Markup {
        let all = self.of(|_| true);
        let parts = words::FILTERS.iter().filter_map(|shown| match self.of(|one| one == *shown) {
            0 => None,
            n => Some(format!("{n} {}", words::state(*shown).to_lowercase())),
        });
        // The numbers are of all, whatever was looked for.
        let of_all = if self.address(None) == "/jobs" { "" } else { " in all" };
        html! { p.summary { (count(all, "job", "jobs")) (of_all) ": " (parts.collect::<Vec<_>>().join(", ")) } }
    }

    fn nothing(&self) -> Markup {
        let asked = self.address(None) != "/jobs";
        html! {
            div.empty {
                @if let Some(next) = &self.next {
                    p { "None of the " (words::number(MAX_REACH.unsigned_abs())) " jobs that were looked at matches. There are older ones." }
                    a.button href=(self.address(Some(next))) rel="next" { "Look at older jobs" }
                } @else if self.query.cursor.as_deref().is_some_and(|cursor| !cursor.is_empty()) {
                    p { "There are no older jobs." }
                    a.button href=(self.address(None)) { "Newest jobs" }
                } @else if asked && self.of(|_| true) > 0 {
                    p { "No job matches." }
                    a.button href="/jobs" { "Show all jobs" }
                } @else {
                    p { "You have no jobs yet." }
                    a.button href="/" { "Upload PDFs" }
                }
            }
        }
    }

    /// Many results at once, and the way to older jobs.
    fn below(&self) -> Markup {
        let any = self.lines.iter().any(|line| line.job.can_download);
        html! {
            @if self.workloads.is_some() { (super::desk::offers(&self.query, self.letters)) }
            div.below {
                @if any {
                    form #zip method="get" action="/jobs/zip" {
                        button #zip-chosen { "Download chosen as ZIP" }
                        button.quiet.scripted #pick-all type="button" { "Choose all on this page" }
                        a #zip-all href="/api/download.zip" download { "Download all results" }
                    }
                }
                nav.pages aria-label="More jobs" {
                    @if self.query.cursor.as_deref().is_some_and(|cursor| !cursor.is_empty()) {
                        a href=(self.address(None)) { "Newest" }
                    }
                    @if let Some(next) = &self.next { a href=(self.address(Some(next))) rel="next" { "Older" } }
                }
            }
        }
    }
}

/// The address of a list.
pub(super) fn address(query: &ListQuery, cursor: Option<&str>) -> String {
    let mut given = Serializer::new(String::new());
    for (name, value) in [
        ("workload", &query.workload),
        ("batch", &query.batch),
        ("members", &query.members),
        ("status", &query.status),
        ("code", &query.code),
        ("q", &query.q),
        ("since", &query.since),
        ("ended_since", &query.ended_since),
        ("target", &query.target),
        ("worker", &query.worker),
        ("limit", &query.limit),
    ] {
        if let Some(value) = value.as_deref().filter(|value| !value.is_empty()) {
            given.append_pair(name, value);
        }
    }
    if let Some(cursor) = cursor {
        given.append_pair("cursor", cursor);
    }
    match given.finish() {
        text if text.is_empty() => "/jobs".to_owned(),
        text => format!("/jobs?{text}"),
    }
}

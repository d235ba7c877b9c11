//! The resources of a batch, a page at a time, by what became of them.

use maud::{Markup, html};
use redrive_api::{FetchResource, FetchResources};
use redrive_model::{Code, Shown};
use url::form_urlencoded::Serializer;

use super::super::icon;
use super::super::words::{bytes, count};

/// What can be looked for: the word of the link, and the states.
const VIEWS: &[(&str, &str)] = &[
    ("All", ""),
    ("Failed", "failed"),
    ("Stored", "complete"),
    ("Under way", "processing"),
    ("Waiting", "queued,waiting_retry,held,scheduled"),
    ("Cancelled", "cancelled"),
];

/// What is shown, and where in the list.
pub(super) struct Shelf<'a> {
    /// The address of the batch's page.
    pub(super) address: &'a str,
    pub(super) status: &'a str,
    pub(super) code: Option<Code>,
    pub(super) cursor: Option<&'a str>,
}

impl Shelf<'_> {
    /// The address of this list, from here or from another place in it.
    pub(super) fn at(&self, status: &str, cursor: Option<&str>) -> String {
        let mut given = Serializer::new(String::new());
        for (name, value) in [("status", Some(status)), ("cursor", cursor)] {
            if let Some(value) = value.filter(|value| !value.is_empty()) {
                given.append_pair(name, value);
            }
        }
        if let Some(code) = self.code.filter(|_| status == "failed") {
            given.append_pair("code", code.name());
        }
        match given.finish() {
            text if text.is_empty() => self.address.to_owned(),
            text => format!("{}?{text}", self.address),
        }
    }

    pub(super) fn section(&self, list: &FetchResources) -> Markup {
        html! {
            h2 #resources { "Resources" }
            nav.tabs aria-label="Which resources" {
                @for (word, status) in VIEWS {
                    a href={ (self.at(status, None)) "#resources" } aria-current=[(self.status == *status).then_some("page")] { (word) }
                }
                @if let Some(code) = self.code { span.fine { "only " (code.name()) } }
            }
            @if list.resources.is_empty() {
                p.fine { @if list.next_cursor.is_some() { "None in this part of the list." } @else { "There are none." } }
            } @else {
                table.jobs role="table" {
                    thead role="rowgroup" {
                        tr role="row" {
                            th role="columnheader" scope="col" { "Resource" }
                            th role="columnheader" scope="col" { "State" }
                        }
                    }
                    tbody role="rowgroup" { @for resource in &list.resources { (row(resource)) } }
                }
            }
            nav.pages aria-label="More resources" {
                @if self.cursor.is_some() { a href={ (self.at(self.status, None)) "#resources" } { "First" } }
                @if let Some(next) = &list.next_cursor {
                    a href={ (self.at(self.status, Some(next))) "#resources" } rel="next" { "Next" }
                }
            }
        }
    }
}

fn row(resource: &FetchResource) -> Markup {
    let shown = Shown::parse(&resource.status).unwrap_or(Shown::Queued);
    let attempts = u64::from(resource.attempts);
    html! {
        tr role="row" {
            td.file role="cell" {
                a.name href={ "/jobs/" (resource.job_id) } { bdi { (resource.id) } }
                @if resource.url != resource.id { " " span.fine { bdi { (resource.url) } } }
            }
            td.how.(icon::class(shown)) role="cell" {
                (icon::state(shown)) " "
                span.fine {
                    @if let Some(size) = resource.bytes { (bytes(size)) }
                    @if let Some(kind) = &resource.content_type { " · " bdi { (kind) } }
                    @if attempts > 1 {
                        @if resource.bytes.is_some() { " · " }
                        "after " (count(attempts, "attempt", "attempts"))
                    }
                }
                @if let Some(key) = &resource.key { span.fine.key-of { bdi { (key) } } }
                @if let Some(failure) = &resource.failure {
                    span.why { (failure.message) " " a href={ "/failures/" (failure.code) } { (failure.code) } }
                }
            }
        }
    }
}

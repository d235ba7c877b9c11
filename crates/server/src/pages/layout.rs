//! What every page has around it.

use axum::response::Response;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use redrive_model::Code;

use super::assets::ASSETS;
use super::viewer::Viewer;

/// What htmx may do here: no style and no history of its own, and no answer that is a refusal is put into a page.
const HTMX: &str = r#"{"includeIndicatorCSS":false,"history":false,"noSwap":[204,304,"4xx","5xx"],"sse":{"reconnectMaxDelay":5000}}"#;

/// Where in the site a page is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Upload,
    Jobs,
    Fetch,
    Overview,
    Dead,
    Replays,
    Breakers,
    Workers,
    Intake,
    Audit,
    Settings,
    Tokens,
    Failures,
    Docs,
}

/// The pages of operators, in their order.
const DESK: &[Desk] = &[
    Desk::always(Place::Overview, "/overview", "Overview"),
    Desk::always(Place::Dead, "/dead", "Dead letters"),
    Desk::always(Place::Replays, "/replays", "Replays"),
    Desk::always(Place::Breakers, "/breakers", "Targets"),
    Desk::always(Place::Workers, "/workers", "Workers"),
    Desk { place: Place::Intake, href: "/intake", text: "Intake", there: |viewer| viewer.intake },
    Desk::always(Place::Audit, "/audit", "Audit"),
    Desk::always(Place::Tokens, "/tokens", "Tokens"),
    Desk::always(Place::Settings, "/settings", "Settings"),
];

/// One of them.
struct Desk {
    place: Place,
    href: &'static str,
    text: &'static str,
    /// Whether this server has it.
    there: fn(&Viewer) -> bool,
}

impl Desk {
    const fn always(place: Place, href: &'static str, text: &'static str) -> Self {
        Self { place, href, text, there: |_| true }
    }
}

/// A page without its content.
pub(super) struct Shell<'a> {
    title: &'a str,
    viewer: Viewer,
    place: Option<Place>,
    banner: Option<Markup>,
    live: Option<String>,
    uploads: bool,
    scripts: bool,
}

impl<'a> Shell<'a> {
    /// A page with this title, for whoever looks.
    pub(super) const fn new(title: &'a str, viewer: Viewer) -> Self {
        Self { title, viewer, place: None, banner: None, live: None, uploads: false, scripts: true }
    }

    /// Where it is.
    pub(super) const fn at(mut self, place: Place) -> Self {
        self.place = Some(place);
        self
    }

    /// Shows this above everything, and keeps it and the page fresh by the stream at this address.
    pub(super) fn live(mut self, banner: Markup, stream: impl Into<String>) -> Self {
        (self.banner, self.live) = (Some(banner), Some(stream.into()));
        self
    }

    /// With the script that sends files.
    pub(super) const fn uploads(mut self) -> Self {
        self.uploads = true;
        self
    }

    /// Without any script.
    pub(super) const fn plain(mut self) -> Self {
        self.scripts = false;
        self
    }

    /// The whole page.
    pub(super) fn page(self, body: &Markup) -> Response {
        let assets = &*ASSETS;
        super::html(html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    title { (self.title) " · Redrive" }
                    link rel="icon" type="image/svg+xml" href=(assets.icon.url);
                    link rel="stylesheet" href=(assets.style.url);
                    @if self.scripts { script src=(assets.clock.url) defer {} }
                    @if self.live.is_some() {
                        meta name="htmx-config" content=(HTMX);
                        script src=(assets.htmx.url) defer {}
                        script src=(assets.live.url) defer {}
                    }
                    @if self.uploads { script src=(assets.upload.url) defer {} }
                }
                body {
                    a.skip href="#main" { "Skip to the content" }
                    header.top {
                        a.brand href="/" { (mark()) "Redrive" }
                        nav aria-label="Pages" {
                            (self.link("/", "Upload", Place::Upload))
                            (self.link("/jobs", "Jobs", Place::Jobs))
                            (self.link("/fetch", "Fetch", Place::Fetch))
                        }
                        @if self.viewer.operator { (self.desk()) }
                    }
                    @if let (Some(banner), Some(stream)) = (&self.banner, &self.live) {
                        div #live hx-sse:connect=(stream) hx-trigger="load, again" {}
                        section aria-label="Notices" {
                            div #banner hx-get="/banner" hx-trigger="banner from:#live" hx-swap="innerMorph" { (banner) }
                            div #lost.notice role="status" {}
                            div #oops.notice role="alert" {}
                            div #said.unseen role="status" {}
                        }
                    }
                    main #main tabindex="-1" { (body) }
                    footer {
                        (self.link("/failures", "What failures mean", Place::Failures))
                        (self.link("/docs", "API", Place::Docs))
                    }
                }
            }
        })
    }

    /// What operators have besides.
    fn desk(&self) -> Markup {
        html! {
            div.desk {
                span.fine { "Operator" }
                nav aria-label="Operators" {
                    @for page in DESK.iter().filter(|page| (page.there)(&self.viewer)) {
                        (self.link(page.href, page.text, page.place))
                    }
                }
                form method="post" action="/sign-out" { button.quiet { "Sign out" } }
            }
        }
    }

    fn link(&self, href: &str, text: &str, place: Place) -> Markup {
        let here = (self.place == Some(place)).then_some("page");
        html! { a href=(href) aria-current=[here] { (text) } }
    }
}

/// The sign beside the name.
fn mark() -> Markup {
    let paths = r#"<path d="M19 12a7 7 0 1 1-2.3-5.2"/><path d="M19.6 3.4v4.2h-4.2"/>"#;
    html! { svg.mark viewBox="0 0 24 24" width="22" height="22" aria-hidden="true" { (PreEscaped(paths)) } }
}

/// What happened · what we do · what you can do. What happened is left out where the heading says it.
pub(super) fn sentences(code: Code, happened: Option<&str>) -> Markup {
    exactly(code.public(), happened)
}

/// The same in the words of this very code, for operators: an inner one says what they can do.
pub(super) fn exactly(code: Code, happened: Option<&str>) -> Markup {
    let entry = code.entry();
    html! {
        dl.sentences {
            @if let Some(text) = happened { div { dt { "What happened" } dd { (text) } } }
            div { dt { "What we do" } dd { (entry.what_we_do) } }
            div { dt { "What you can do" } dd { (entry.what_you_can_do) } }
        }
    }
}

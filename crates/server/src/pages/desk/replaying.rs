//! The form of a replay: how many it is, and how they are started again: a few first, then the rest, and an end when too many fail again.

use maud::{Markup, html};
use redrive_api::{NewReplay, ReplayFilter};
use redrive_model::Offset;
use redrive_store::Matching;
use serde::Deserialize;

use super::super::words::number;
use super::reason;
use crate::query;
use crate::refusal::Refusal;

/// What the form says.
#[derive(Debug, Clone, Deserialize)]
#[serde(default)]
pub(in crate::pages) struct Typed {
    canary: String,
    rate: String,
    stop: String,
    reason: String,
    /// What was counted goes up to this dead letter.
    upto: String,
}

impl Default for Typed {
    /// What is usual.
    fn default() -> Self {
        let (reason, upto) = (String::new(), String::new());
        Self { canary: "3".to_owned(), rate: "5".to_owned(), stop: "20".to_owned(), reason, upto }
    }
}

impl Typed {
    /// The replay of these dead letters.
    pub(super) fn replay(&self, filter: ReplayFilter) -> Result<NewReplay, Refusal> {
        let percent = whole("Stop when", &self.stop)?;
        if percent > 100 {
            return Err(Refusal::field("Stop when", "is no share from 0 to 100 %"));
        }
        let upto = query::given(Some(self.upto.clone()));
        Ok(NewReplay {
            filter,
            upto: upto.map(|text| text.parse().map_err(|_| super::odd())).transpose()?,
            canary: Some(whole("Try so many first", &self.canary)?),
            rate_per_sec: Some(whole("Then per second", &self.rate)?),
            stop_at_failure_share: Some(f64::from(percent) / 100.0),
            reason: query::given(Some(self.reason.clone())),
            ..NewReplay::default()
        })
    }
}

fn whole(name: &str, typed: &str) -> Result<u32, Refusal> {
    typed.trim().parse().map_err(|_| Refusal::field(name, "is no whole number"))
}

/// The form. `kept` goes with it unseen, and so does how far what was counted goes: nothing else is started, whatever dies meanwhile.
pub(super) fn dialog(
    action: &str,
    kept: &[(&str, &str)],
    waiting: &Matching<Offset>,
    typed: &Typed,
    flaw: Option<&str>,
) -> Markup {
    let field = |id: &str, label: &str, value: &str, max: &str| {
        html! {
            div {
                label for=(id) { (label) }
                input id=(id) name=(id) type="number" min="0" max=(max) required value=(value) inputmode="numeric";
            }
        }
    };
    html! {
        section #replay aria-label="Replay" {
            h2 { "Replay" }
            @if waiting.count == 0 {
                p.fine { "Nothing waits: there is nothing to replay." }
                @if let Some(flaw) = flaw { (not_started(flaw)) }
            } @else {
                p.fine { "A few are tried first; when they end well the rest follows. It stops by itself when too many fail again." }
                form.add method="post" action=(action) {
                    @for (name, value) in kept { input type="hidden" name=(name) value=(value); }
                    @if let Some(upto) = waiting.newest { input type="hidden" name="upto" value=(upto.0); }
                    (field("canary", "Try so many first", &typed.canary, "100000"))
                    (field("rate", "Then per second", &typed.rate, "500"))
                    (field("stop", "Stop when so many % fail again", &typed.stop, "100"))
                    (reason("reason", &typed.reason))
                    button { "Replay " (number(waiting.count)) @if waiting.count == 1 { " job" } @else { " jobs" } }
                    @if let Some(flaw) = flaw { (not_started(flaw)) }
                }
            }
        }
    }
}

fn not_started(flaw: &str) -> Markup {
    html! { p.why role="alert" { "Nothing was started: " (flaw) } }
}

//! What stands in the document, in the order in which people read: the cause first, then what is wrong, then the details.

use docx_rs::Docx;

use super::cause::likely_cause;
use super::facts::{Analysis, Attempt, NoProperties, Pdf};
use super::issues::{Severity, issues, millis};
use super::layout::{Cell, WIDTH, aside, blank, body, pairs, styled, summary, table};
use super::{DocumentError, package};
use super::{Font, Properties};
use crate::shown;

/// So much of a name, a path or a message is shown.
const LONGEST: usize = 400;
/// So much of a name stands in the foot and in the title.
const SHORT: usize = 60;
/// So many rows of attempts and of fonts are shown.
const MOST_ROWS: usize = 30;

/// The analysis as a `.docx`. The same facts make the same bytes.
///
/// # Errors
///
/// [`DocumentError`] when it could not be packed; no facts lead to it.
pub fn document(analysis: &Analysis) -> Result<Vec<u8>, DocumentError> {
    let title = format!("Failure analysis: {}", shown::name(&analysis.file.name, SHORT));
    let found = issues(analysis);
    let likely = likely_cause(analysis);
    let worst = found.first().map_or(Severity::Note, |issue| issue.severity);
    let made = format!("Made {} by Redrive", shown::instant(analysis.made, &analysis.zone));
    let mut page = blank(&title)
        .add_paragraph(styled("Title", "Failure analysis"))
        .add_paragraph(styled("Subtitle", &format!("{}  ·  {made}", shown::name(&analysis.file.name, SHORT))))
        .add_table(summary(worst, &[("LIKELY CAUSE", &likely.cause), ("NEXT STEP", &likely.next)]));
    page = page.add_paragraph(styled("Heading1", "Issues"));
    page = if found.is_empty() {
        page.add_paragraph(body("Nothing unusual was found in the file itself."))
    } else {
        let rows: Vec<Vec<Cell>> = found
            .iter()
            .map(|issue| {
                vec![
                    Cell::Severity(issue.severity),
                    Cell::Text(issue.what.clone()),
                    Cell::Text(issue.advice.to_owned()),
                ]
            })
            .collect();
        let widths = [1_300, 4_338, WIDTH - 1_300 - 4_338];
        page.add_table(table(&widths, &["Severity", "What was found", "What helps"], &rows))
    };
    page = failure(page, analysis, &likely.next);
    page = file(page, analysis);
    page = pdf(page, analysis);
    page = page.add_paragraph(aside(&measured(analysis)));
    package::pack(page, &title, analysis.made)
}

fn failure(page: Docx, analysis: &Analysis, next: &str) -> Docx {
    let failure = &analysis.failure;
    let entry = failure.code.entry();
    let text = |text: &str| Cell::Text(text.to_owned());
    let mut rows = vec![
        ("Code", Cell::Exact(entry.name.to_owned())),
        ("What happened", text(entry.what_happened)),
        ("What we do", Cell::Text(what_we_do(analysis))),
        ("What you can do", text(if is_over(analysis) { next } else { entry.what_you_can_do })),
    ];
    let message = shown::line(&failure.message, LONGEST);
    if !message.is_empty() {
        rows.push(("Message", Cell::Text(message)));
    }
    if let Some(link) = analysis.link.as_deref().filter(|link| is_web(link)) {
        rows.push(("More", Cell::Text(shown::line(link, LONGEST))));
    }
    let page = page.add_paragraph(styled("Heading1", "The failure")).add_table(pairs(&rows));
    if failure.attempts.is_empty() {
        return page;
    }
    let newest = failure.attempts.len().saturating_sub(MOST_ROWS);
    let rows: Vec<Vec<Cell>> =
        failure.attempts.iter().skip(newest).map(|attempt| row(attempt, analysis)).collect();
    let widths = [700, 3_100, 1_900, WIDTH - 5_700];
    let mut page = page.add_paragraph(styled("Heading2", "Attempts")).add_table(table(
        &widths,
        &["No.", "Started", "Took", "Outcome"],
        &rows,
    ));
    if newest > 0 {
        let older = shown::counted(newest as u64, "older attempt is", "older attempts are");
        page = page.add_paragraph(aside(&format!("{older} not shown.")));
    }
    page
}

/// The registry speaks of retries, and there are none any more.
fn is_over(analysis: &Analysis) -> bool {
    analysis.failure.given_up && analysis.failure.code.is_retryable()
}

/// The registry's sentence, unless it promises a retry that is not coming, or denies those that were made.
fn what_we_do(analysis: &Analysis) -> String {
    let failure = &analysis.failure;
    let tried_again = failure.given_up && failure.attempts.len() > 1;
    if !is_over(analysis) && !tried_again {
        return failure.code.entry().what_we_do.to_owned();
    }
    match failure.attempts.len() {
        0 | 1 => "We tried once and gave up. The file is kept.".to_owned(),
        n => format!("We tried {} times and gave up. The file is kept.", shown::number(n as u64)),
    }
}

fn row(attempt: &Attempt, analysis: &Analysis) -> Vec<Cell> {
    let took = attempt.took.map_or("not known".to_owned(), |took| shown::duration(millis(took)));
    let outcome = shown::line(&attempt.outcome, 80);
    let outcome = match attempt.code {
        Some(code) if outcome.is_empty() => code.name().to_owned(),
        Some(code) => format!("{outcome}: {}", code.name()),
        None => outcome,
    };
    vec![
        Cell::Text(attempt.number.to_string()),
        Cell::Text(shown::instant(attempt.started, &analysis.zone)),
        Cell::Text(took),
        Cell::Text(outcome),
    ]
}

fn file(page: Docx, analysis: &Analysis) -> Docx {
    let file = &analysis.file;
    let at = |at: Option<redrive_model::Timestamp>| {
        Cell::Text(at.map_or("not known".to_owned(), |at| shown::instant(at, &analysis.zone)))
    };
    let rows = [
        ("Name", Cell::Text(shown::name(&file.name, LONGEST))),
        ("Path", Cell::Text(shown::name(&file.path, LONGEST))),
        ("Size", Cell::Text(file.bytes.map_or("not known".to_owned(), shown::size))),
        ("Owner", Cell::Text(shown::line(&file.owner, LONGEST))),
        ("Received", at(file.received)),
        ("Last processed", at(file.processed)),
        (
            "SHA-256",
            Cell::Exact(file.sha256.as_deref().map_or("not known".to_owned(), |hash| shown::line(hash, 64))),
        ),
    ];
    page.add_paragraph(styled("Heading1", "The file")).add_table(pairs(&rows))
}

fn pdf(page: Docx, analysis: &Analysis) -> Docx {
    let page = page.add_paragraph(styled("Heading1", "The PDF"));
    match &analysis.pdf {
        Pdf::Known(pdf) => fonts(page.add_table(pairs(&properties(pdf))), pdf),
        Pdf::Unknown(why) => page.add_paragraph(body(unseen(*why))),
    }
}

const fn unseen(why: NoProperties) -> &'static str {
    match why {
        NoProperties::NotPdf => "Its properties are not known: the file is not a PDF.",
        NoProperties::Password => "Its properties are not known: the file opens with a password only.",
        NoProperties::Encryption => {
            "Its properties are not known: the file is protected in a way that cannot be opened here."
        }
        NoProperties::Damaged => "Its properties are not known: the file is too damaged to be opened.",
        NoProperties::Limits => {
            "Its properties are not known: looking at them takes more time or memory than one file may use."
        }
        NoProperties::Missing => "Its properties are not known: the file is no longer where it was.",
        NoProperties::GatewayAway => {
            "Its properties are not known: the converter did not answer when this analysis was made."
        }
    }
}

fn properties(pdf: &Properties) -> Vec<(&'static str, Cell)> {
    let text = |text: &Option<String>| {
        let line = shown::line(text.as_deref().unwrap_or_default(), LONGEST);
        Cell::Text(if line.is_empty() { "not said".to_owned() } else { line })
    };
    let yes = |yes: bool, what: &str| Cell::Text(if yes { what.to_owned() } else { "no".to_owned() });
    let number = |n: u32| Cell::Text(shown::number(u64::from(n)));
    let version = shown::line(&pdf.version, 20);
    vec![
        ("Version", Cell::Text(if version.is_empty() { "not said".to_owned() } else { version })),
        ("Pages", number(pdf.pages)),
        ("Pictures", number(pdf.images)),
        ("Title", text(&pdf.title)),
        ("Made with", text(&pdf.producer)),
        ("Encrypted", yes(pdf.encrypted, "yes, opens without a password")),
        ("Damaged", yes(pdf.repaired, "yes, was repaired to be read")),
        ("Tagged", yes(pdf.tagged, "yes")),
        ("Form fields", yes(pdf.forms, "yes")),
        ("Attachments", yes(pdf.attachments, "yes")),
        ("Scripts", yes(pdf.javascript, "yes")),
    ]
}

fn fonts(page: Docx, pdf: &Properties) -> Docx {
    let page = page.add_paragraph(styled("Heading2", "Fonts"));
    if pdf.fonts.is_empty() {
        return page.add_paragraph(body("The file names no fonts."));
    }
    // Those that are missing first: they are why people look.
    let mut order: Vec<&Font> = pdf.fonts.iter().collect();
    order.sort_by(|a, b| (a.embedded, &a.name, &a.kind).cmp(&(b.embedded, &b.name, &b.kind)));
    let row = |font: &&Font| {
        let embedded = if font.embedded { "yes" } else { "no" };
        vec![
            Cell::Text(shown::name(&font.name, 120)),
            Cell::Text(shown::line(&font.kind, 20)),
            if font.embedded { Cell::Text(embedded.to_owned()) } else { Cell::Strong(embedded.to_owned()) },
        ]
    };
    let rows: Vec<Vec<Cell>> = order.iter().take(MOST_ROWS).map(row).collect();
    let widths = [5_838, 2_000, WIDTH - 7_838];
    let page = page.add_table(table(&widths, &["Name", "Type", "Embedded"], &rows));
    match order.len().saturating_sub(MOST_ROWS) {
        0 => page,
        more => page.add_paragraph(aside(&format!(
            "And {}.",
            shown::counted(more as u64, "more font", "more fonts")
        ))),
    }
}

/// What "usual" means above.
fn measured(analysis: &Analysis) -> String {
    let limits = &analysis.thresholds;
    let fonts = match limits.fonts_not_embedded {
        0 => "no font that is not embedded".to_owned(),
        1 => "1 font that is not embedded".to_owned(),
        n => format!("{} fonts that are not embedded", shown::number(u64::from(n))),
    };
    format!(
        "Usual here means at most {}, {}, {}, {fonts}, and {} for an attempt. The operator sets these numbers.",
        shown::short_size(limits.bytes),
        shown::counted(u64::from(limits.pages), "page", "pages"),
        shown::counted(u64::from(limits.images), "picture", "pictures"),
        shown::duration(millis(limits.attempt)),
    )
}

fn is_web(link: &str) -> bool {
    link.starts_with("https://") || link.starts_with("http://")
}

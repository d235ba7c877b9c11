//! Reads pages strictly: what a browser would silently repair fails the test.

use scraper::{ElementRef, Html, Selector};

use crate::client::{Answer, Client};

/// A page that was read.
pub(crate) struct Page {
    pub(crate) answer: Answer,
    html: Html,
}

/// What a browser that goes somewhere says of itself.
pub(crate) const BROWSER: &[(&str, &str)] = &[
    ("accept", "text/html,application/xhtml+xml"),
    ("sec-fetch-mode", "navigate"),
    ("sec-fetch-site", "same-origin"),
];

/// What a script of ours says of itself.
pub(crate) const SCRIPT: &[(&str, &str)] = &[
    ("accept", "text/html"),
    ("hx-request", "true"),
    ("sec-fetch-mode", "same-origin"),
    ("sec-fetch-site", "same-origin"),
];

/// Goes to a page.
pub(crate) async fn visit(client: &mut Client, path: &str) -> Page {
    Page::read(client.ask("GET", path, BROWSER).await)
}

/// Presses a button of a form.
pub(crate) async fn press(client: &mut Client, path: &str, fields: &str) -> Answer {
    let mut request = client
        .request("POST", path)
        .header("content-type", "application/x-www-form-urlencoded")
        .body(fields.to_owned());
    for (name, value) in BROWSER {
        request = request.header(*name, *value);
    }
    client.send(request).await
}

impl Page {
    /// A whole page. It is checked for what every page must be.
    pub(crate) fn read(answer: Answer) -> Self {
        assert_eq!(answer.header("content-type"), Some("text/html; charset=utf-8"), "{}", answer.text());
        let html = Html::parse_document(&answer.text());
        assert!(html.errors.is_empty(), "{:?} in {}", html.errors, answer.text());
        let page = Self { answer, html };
        page.is_proper();
        page
    }

    /// A piece of a page.
    pub(crate) fn piece(answer: Answer) -> Self {
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert!(!answer.text().contains("<html"), "a piece is no page: {}", answer.text());
        let html = Html::parse_fragment(&answer.text());
        Self { answer, html }
    }

    pub(crate) fn all(&self, selector: &str) -> Vec<ElementRef<'_>> {
        self.html.select(&Selector::parse(selector).unwrap()).collect()
    }

    pub(crate) fn one(&self, selector: &str) -> ElementRef<'_> {
        let all = self.all(selector);
        assert_eq!(all.len(), 1, "{selector} in {}", self.answer.text());
        all[0]
    }

    /// The text of the one element, with white space folded.
    pub(crate) fn text(&self, selector: &str) -> String {
        text(self.one(selector))
    }

    fn is_proper(&self) {
        let policy = self.answer.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self'"), "{policy}");
        assert!(!policy.contains("unsafe"), "{policy}");
        // With no-referrer a plain form would say that it comes from nowhere.
        assert_eq!(self.answer.header("referrer-policy"), Some("same-origin"));
        assert_eq!(self.answer.header("cache-control"), Some("no-store"));
        assert!(!self.text("title").is_empty());
        assert_eq!(self.all("h1").len(), 1, "one heading: {}", self.answer.text());
        for script in self.all("script") {
            assert!(script.attr("src").is_some_and(|src| src.starts_with("/assets/")), "{}", script.html());
            assert!(text(script).is_empty());
        }
        assert!(self.all("style, [style], iframe, object, embed, base").is_empty(), "{}", self.answer.text());
        let mut ids = Vec::new();
        for element in self.all("*") {
            for (name, value) in element.value().attrs() {
                assert!(!name.starts_with("on"), "an inline handler: {}", element.html());
                if matches!(name, "href" | "src" | "action" | "hx-get" | "hx-post") {
                    assert!(
                        value.starts_with('/') || value.starts_with('#'),
                        "{name}={value} leads elsewhere"
                    );
                }
                if name == "id" {
                    assert!(!ids.contains(&value), "two elements are called {value}");
                    ids.push(value);
                }
            }
        }
    }
}

/// The text of an element and of what is in it, with one blank between them.
pub(crate) fn text(element: ElementRef<'_>) -> String {
    element.text().collect::<Vec<_>>().join(" ").split_whitespace().collect::<Vec<_>>().join(" ")
}

//! The proxies that a batch goes through, each with how it is. Where they are, and what they want to hear, is nobody's business.

use std::time::Duration;

use maud::{Markup, html};
use redrive_api::FetchProxy;
use redrive_model::{Timestamp, instant};

use super::super::words::countdown;

pub(super) fn section(proxies: &[FetchProxy], now: Timestamp) -> Markup {
    if proxies.is_empty() {
        return html! {};
    }
    html! {
        table.plain-table #proxies {
            thead { tr { th scope="col" { "Proxy" } th scope="col" { "How it is" } } }
            tbody {
                @for proxy in proxies {
                    tr { th scope="row" { bdi { (proxy.proxy) } } td { (how(proxy, now)) } }
                }
            }
        }
        p.fine { "As this server knows them; other workers may know more." }
    }
}

fn how(proxy: &FetchProxy, now: Timestamp) -> Markup {
    match (proxy.state.as_str(), proxy.wait_ms) {
        ("left_alone", Some(wait)) => {
            let until = instant::after(now, Duration::from_millis(wait));
            html! { span.is-delayed.toned { "did not work and is left alone" } ", next try " (countdown(until, now)) }
        }
        ("left_alone" | "tried", _) => {
            html! { span.is-delayed.toned { "did not work; the next download tries it" } }
        }
        _ => html! { span.is-good.toned { "works" } },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_is_told_with_how_it_is_and_when_it_is_tried_again() {
        let proxy = |name: &str, state: &str, wait_ms| FetchProxy {
            proxy: name.to_owned(),
            state: state.to_owned(),
            wait_ms,
        };
        let all = [
            proxy("eu#1", "working", None),
            proxy("eu#2", "left_alone", Some(9_500)),
            proxy("us#1", "tried", None),
        ];
        let page = section(&all, instant::from_millis(0)).into_string();
        let row = |name: &str| {
            let (_, rest) = page.split_once(name).unwrap();
            rest.split_once("</tr>").unwrap().0.to_owned()
        };
        assert!(row("eu#1").contains("works"), "{page}");
        assert!(row("eu#2").contains("left alone") && row("eu#2").contains("in 10 s"), "{page}");
        assert!(row("us#1").contains("the next download tries it"), "{page}");
        assert_eq!(section(&[], instant::from_millis(0)).into_string(), "");
    }
}

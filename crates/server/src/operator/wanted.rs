//! Where a sign-in leads: to a page of this server, whatever the link says.

/// Longer addresses are none of ours that anybody wants back.
const MOST: usize = 1_000;

/// A page of ours that somebody wanted before signing in.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Wanted(String);

impl Wanted {
    /// What is not plainly a page of ours is the overview: another server, which a browser also reads from `//` and from `/\\`, an address
    /// for programs, and the door itself.
    pub(crate) fn of(text: &str) -> Self {
        let plain = text.len() <= MOST && text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
        let ours = text.starts_with('/') && !text.starts_with("//");
        let page = !["/api/", "/sign-in", "/sign-out"].iter().any(|start| text.starts_with(start));
        Self(if plain && ours && page { text } else { Self::OVERVIEW }.to_owned())
    }

    const OVERVIEW: &str = "/overview";

    /// Its address.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// The address of the door that leads to it.
    pub(crate) fn door(&self) -> String {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        format!("/sign-in?{}", query.append_pair("to", &self.0).finish())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sign_in_leads_to_a_page_of_ours_and_nowhere_else() {
        for page in [
            "/",
            "/dead",
            "/dead/f8ea56e486c8ade9?cursor=7",
            "/jobs?status=failed&q=a%20b",
            "/settings#doctor",
        ] {
            assert_eq!(Wanted::of(page).as_str(), page);
        }
        let long = format!("/jobs?q={}", "a".repeat(MOST));
        for other in [
            "",
            "dead",
            "//evil.example",
            "///evil.example",
            "/\\evil.example",
            "\\/evil.example",
            "https://evil.example/",
            "javascript:alert(1)",
            "/dead\r\nset-cookie: a=b",
            "/\t/evil.example",
            " /dead",
            "/jobs?q=ä",
            "/sign-in?code=1",
            "/sign-out",
            "/api/jobs",
            &long,
        ] {
            assert_eq!(Wanted::of(other).as_str(), "/overview", "{other:?}");
        }
        assert_eq!(Wanted::of("/jobs?q=a&b").door(), "/sign-in?to=%2Fjobs%3Fq%3Da%26b");
    }
}

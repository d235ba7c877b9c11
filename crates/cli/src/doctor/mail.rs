//! Whether the mail server takes us: greeting, encryption and sign-in as a mail would have them. No mail is sent.

use std::time::Duration;

use redrive_api::Finding;
use redrive_intake::digest::mail::Mailer;

use crate::settings::Serving;

/// A mail may wait for longer; whoever looks for what is wrong does not.
const PATIENCE: Duration = Duration::from_secs(10);

/// Nothing while no mail is sent.
pub(super) async fn examine(serving: &Serving) -> Option<Finding> {
    let mail = serving.digesting.as_ref()?.mail.as_ref()?;
    let mut settings = mail.clone();
    settings.timeout = settings.timeout.min(PATIENCE);
    let server = format!("{}:{}", settings.host, settings.port);
    Some(match Mailer::new(settings).check().await {
        Ok(()) => Finding::good("mail", format!("{server} takes our mail; none was sent")),
        Err(error) => {
            let next = format!(
                "{} See whether SMTP_URL is right; digests are tried again meanwhile.",
                error.code.entry().what_you_can_do
            );
            Finding::bad("mail", format!("{server}: {error} ({})", error.code.name()), next)
        }
    })
}

//! What people do about digests. Each act is a line of the audit trail: written before it is done, with what became of it after.

use redrive_engine::store::intake::Notification;
use redrive_engine::store::{NewAct, StoreError};
use redrive_engine::{By, JobId};
use redrive_notify::mail;

use super::{Digests, Occasion};

/// Why an address cannot be noted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AddressError {
    /// It is no mail address.
    #[error("{0:?} is no mail address; jane@example.org is one")]
    Address(String),
    /// An owner's name that cannot be kept.
    #[error("an owner's name has 1 to 255 bytes and no control characters")]
    Owner,
    /// The store did not take it.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Digests {
    /// Asks for a digest now, beside those of the schedule. Answers the job that opens it.
    pub async fn open(&self, by: &By) -> redrive_engine::Result<JobId> {
        let number = self.note(by, "digest.send", "digest".to_owned()).await?;
        let done = self.engine.enqueue(&Occasion::default()).await;
        self.conclude(number, done.as_ref().map(|id| format!("job {id}"))).await;
        done
    }

    /// Adds an address, or switches it. Answers it as it is kept.
    pub async fn set_notification(
        &self,
        notification: Notification,
        by: &By,
    ) -> Result<Notification, AddressError> {
        let notification = Self::checked(notification)?;
        let Notification { owner, address, enabled } = &notification;
        let action = if *enabled { "notifications.enable" } else { "notifications.disable" };
        let number = self.note(by, action, format!("{owner}: {address}")).await?;
        let done = self.intake.set_notification(notification.clone()).await;
        self.conclude(number, done.as_ref().map(|()| "done".to_owned())).await;
        done?;
        Ok(notification)
    }

    /// Removes an address. Answers whether it was there.
    pub async fn remove_notification(&self, owner: &str, address: &str, by: &By) -> Result<bool, StoreError> {
        let number = self.note(by, "notifications.remove", format!("{owner}: {address}")).await?;
        let done = self.intake.remove_notification(owner, address).await;
        let words = |there: &bool| if *there { "done".to_owned() } else { "there was none".to_owned() };
        self.conclude(number, done.as_ref().map(words)).await;
        done
    }

    /// Owner and address as they are kept: without spaces around them, the domain as machines write it.
    pub fn checked(notification: Notification) -> Result<Notification, AddressError> {
        let owner = notification.owner.trim().to_owned();
        if owner.is_empty() || owner.len() > 255 || owner.chars().any(char::is_control) {
            return Err(AddressError::Owner);
        }
        let address = mail::plain_address(&notification.address).ok_or_else(|| {
            AddressError::Address(redrive_engine::model::text::one_line_chars(&notification.address, 80))
        })?;
        Ok(Notification { owner, address, enabled: notification.enabled })
    }

    async fn note(&self, by: &By, action: &str, subject: String) -> Result<i64, StoreError> {
        let (actor, reason) = (by.actor().to_owned(), by.reason().map(str::to_owned));
        tracing::info!(event = "desk.act", actor, action, subject);
        let act = NewAct { actor, action: action.to_owned(), subject, reason };
        self.engine.store().note_act(act).await
    }

    async fn conclude(&self, number: i64, outcome: Result<String, &impl std::fmt::Display>) {
        let outcome = outcome.unwrap_or_else(|error| error.to_string());
        if let Err(error) = self.engine.store().conclude_act(number, &outcome).await {
            tracing::warn!(event = "desk.not_concluded", number, "{error}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_plain_mail_address_of_somebody_is_kept() {
        let of = |owner: &str, address: &str| {
            Digests::checked(Notification { owner: owner.into(), address: address.into(), enabled: true })
        };
        let kept = of(" jane ", " jane@bücher.example ").unwrap();
        assert_eq!((kept.owner.as_str(), kept.address.as_str()), ("jane", "jane@xn--bcher-kva.example"));
        for bad in ["", "jane", "jane@", "a@b, c@d", "Jane <jane@example.org>", "a@b\r\nBcc: c@d"] {
            assert!(matches!(of("jane", bad), Err(AddressError::Address(_))), "{bad:?}");
        }
        for bad in ["", "  ", "a\nb", &"x".repeat(256)] {
            assert!(matches!(of(bad, "a@b"), Err(AddressError::Owner)), "{bad:?}");
        }
    }
}

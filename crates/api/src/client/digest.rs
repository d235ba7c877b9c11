//! Digests, who gets them, and how they went.

use reqwest::Method;

use super::{Client, QUICK, Result, read, with_json};
use crate::{DeliveryList, DigestReply, DigestRequest, Notification, NotificationList, WhichNotification};

impl Client {
    /// What would be sent, or that it is to be sent now.
    pub async fn digest(&self, wanted: &DigestRequest) -> Result<DigestReply> {
        let request = self.request(Method::POST, &["api", "digest"]).timeout(QUICK);
        read(self.send(with_json(request, wanted)?).await?).await
    }

    /// Who is told.
    pub async fn notifications(&self) -> Result<NotificationList> {
        self.get(&["api", "notifications"]).await
    }

    /// Adds an address, or switches it.
    pub async fn set_notification(&self, notification: &Notification) -> Result<Notification> {
        let request = self.request(Method::POST, &["api", "notifications"]).timeout(QUICK);
        read(self.send(with_json(request, notification)?).await?).await
    }

    /// Removes an address.
    pub async fn remove_notification(&self, which: &WhichNotification) -> Result<()> {
        let request = self.request(Method::DELETE, &["api", "notifications"]).query(which).timeout(QUICK);
        self.send(request).await.map(drop)
    }

    /// One page of deliveries, newest first.
    pub async fn deliveries(&self, limit: usize, cursor: Option<&str>) -> Result<DeliveryList> {
        let request = self.request(Method::GET, &["api", "deliveries"]).query(&[("limit", limit)]);
        let request = request.query(&cursor.map(|cursor| [("cursor", cursor)])).timeout(QUICK);
        read(self.send(request).await?).await
    }
}

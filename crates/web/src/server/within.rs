//! Waiting that has a limit, or none.

use std::time::Duration;

/// What comes of `future` in time; whenever it comes, without a limit.
pub(super) async fn within<T>(limit: Option<Duration>, future: impl Future<Output = T>) -> Option<T> {
    match limit {
        Some(limit) => tokio::time::timeout(limit, future).await.ok(),
        None => Some(future.await),
    }
}

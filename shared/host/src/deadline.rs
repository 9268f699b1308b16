//! How long a call may take: the `grpc-timeout` header, read, written and kept.

use std::{future::Future, time::Duration};

use http::{HeaderMap, HeaderName, HeaderValue};
use tokio::time::Instant;
use tonic::Status;

use crate::status;

const TIMEOUT: HeaderName = HeaderName::from_static("grpc-timeout");
const DIGITS_MAX: usize = 8;

/// The deadline that a call's headers set; a header that cannot be read sets none.
pub fn read(headers: &HeaderMap) -> Option<Instant> {
    parse(headers.get(TIMEOUT)?.to_str().ok()?).and_then(|left| Instant::now().checked_add(left))
}

/// Sets the time that is left, unless the headers already ask for less.
pub fn write(headers: &mut HeaderMap, deadline: Instant) {
    let left = deadline.saturating_duration_since(Instant::now());
    let asked = headers.get(TIMEOUT).and_then(|value| parse(value.to_str().ok()?));
    headers.insert(TIMEOUT, format(asked.map_or(left, |asked| asked.min(left))));
}

/// Waits for `call` until `deadline`; after it, the answer is DEADLINE_EXCEEDED.
pub async fn keep<T>(
    deadline: Option<Instant>,
    call: impl Future<Output = Result<T, Status>>,
) -> Result<T, Status> {
    match deadline {
        None => call.await,
        Some(deadline) => tokio::time::timeout_at(deadline, call)
            .await
            .unwrap_or_else(|_| Err(status::deadline_exceeded())),
    }
}

/// `1H`, `5M`, `10S`, `250m`, `8u`, `9n`: at most eight digits and a unit (gRPC over HTTP/2).
fn parse(text: &str) -> Option<Duration> {
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    if digits.is_empty() || digits.len() > DIGITS_MAX || !digits.bytes().all(|b| b.is_ascii_digit())
    {
        return None;
    }
    let amount: u64 = digits.parse().ok()?;
    match unit {
        "H" => Some(Duration::from_secs(amount * 3_600)),
        "M" => Some(Duration::from_secs(amount * 60)),
        "S" => Some(Duration::from_secs(amount)),
        "m" => Some(Duration::from_millis(amount)),
        "u" => Some(Duration::from_micros(amount)),
        "n" => Some(Duration::from_nanos(amount)),
        _ => None,
    }
}

/// The finest unit that eight digits can hold.
fn format(left: Duration) -> HeaderValue {
    let units = [(left.as_micros(), 'u'), (left.as_millis(), 'm'), (left.as_secs().into(), 'S')];
    let (amount, unit) = units
        .into_iter()
        .find(|(amount, _)| *amount < 100_000_000)
        .unwrap_or(((left.as_secs() / 3_600).min(99_999_999).into(), 'H'));
    HeaderValue::try_from(format!("{amount}{unit}"))
        .expect("digits and a letter are a header value")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<Duration>) {
        assert_eq!(parse(text), expected);
    }

    #[test]
    fn every_unit_is_read() {
        check("2H", Some(Duration::from_secs(7_200)));
        check("2M", Some(Duration::from_secs(120)));
        check("2S", Some(Duration::from_secs(2)));
        check("2m", Some(Duration::from_millis(2)));
        check("2u", Some(Duration::from_micros(2)));
        check("2n", Some(Duration::from_nanos(2)));
    }

    #[test]
    fn what_is_not_a_timeout_sets_none() {
        for text in ["", "S", "5", "5x", "-5S", "+5S", "123456789S", "5é"] {
            check(text, None);
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        for left in [Duration::ZERO, Duration::from_millis(1_500), Duration::from_secs(86_400)] {
            check(format(left).to_str().expect("ascii"), Some(left));
        }
    }

    #[test]
    fn a_shorter_timeout_of_the_call_itself_stays() {
        let mut headers = HeaderMap::new();
        headers.insert(TIMEOUT, HeaderValue::from_static("5m"));
        write(&mut headers, Instant::now() + Duration::from_secs(60));
        assert_eq!(headers[TIMEOUT], "5000u");
    }

    #[tokio::test]
    async fn a_call_that_outlasts_its_deadline_answers_deadline_exceeded() {
        let deadline = Instant::now();
        let answer = keep(Some(deadline), std::future::pending::<Result<(), Status>>()).await;
        assert_eq!(answer.map_err(|status| status.code()), Err(tonic::Code::DeadlineExceeded));
    }
}

//! Connections as they come, no more at a time than the limit; one that says nothing is closed.

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use futures::{Stream, StreamExt as _, stream};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Sleep, sleep},
};
use tonic::transport::server::{Connected, TcpConnectInfo, TcpIncoming};

/// A connection that counts for as long as it is open.
pub(crate) struct Counted {
    stream: TcpStream,
    /// Until it has said enough to tell which HTTP it speaks; from there on that protocol's own limits hold.
    greeting: Option<Greeting>,
    _place: OwnedSemaphorePermit,
}

struct Greeting {
    bytes_left: usize,
    deadline: Pin<Box<Sleep>>,
}

/// The preface of HTTP/2; no request of HTTP/1 is shorter.
const GREETING_BYTES: usize = 24;

/// The listener's connections, at most `most` of them open; the next ones wait until one has gone.
/// `greeting` is how long one may take to say which HTTP it speaks.
pub(crate) fn counted(
    listener: TcpListener,
    most: usize,
    greeting: Duration,
) -> impl Stream<Item = io::Result<Counted>> + Send + 'static {
    let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
    let places = Arc::new(Semaphore::new(most));
    stream::unfold((incoming, places), move |(mut incoming, places)| async move {
        let place = places.clone().acquire_owned().await.ok()?;
        let accepted = incoming.next().await?;
        Some((accepted.map(|stream| Counted::new(stream, place, greeting)), (incoming, places)))
    })
}

// === impl Counted ===

impl Counted {
    fn new(stream: TcpStream, place: OwnedSemaphorePermit, greeting: Duration) -> Self {
        let deadline = Box::pin(sleep(greeting));
        let greeting = Some(Greeting { bytes_left: GREETING_BYTES, deadline });
        Self { stream, greeting, _place: place }
    }
}

impl Connected for Counted {
    type ConnectInfo = TcpConnectInfo;

    fn connect_info(&self) -> TcpConnectInfo {
        self.stream.connect_info()
    }
}

impl AsyncRead for Counted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        let Some(greeting) = &mut self.greeting else { return read };
        if read.is_pending() {
            let late = greeting.deadline.as_mut().poll(context);
            return late.map(|()| Err(io::ErrorKind::TimedOut.into()));
        }
        greeting.bytes_left = greeting.bytes_left.saturating_sub(buffer.filled().len() - before);
        if greeting.bytes_left == 0 {
            self.greeting = None;
        }
        read
    }
}

impl AsyncWrite for Counted {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    const GREETING: Duration = Duration::from_millis(50);

    /// Both ends of a connection.
    async fn connection() -> (TcpStream, Counted) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("bound");
        let mut incoming = Box::pin(counted(listener, 1, GREETING));
        let (client, accepted) = tokio::join!(TcpStream::connect(address), incoming.next());
        (client.expect("connected"), accepted.expect("one").expect("accepted"))
    }

    #[tokio::test]
    async fn who_says_nothing_is_not_listened_to_for_ever() {
        let (mut client, mut server) = connection().await;
        client.write_all(&[b'x'; GREETING_BYTES - 1]).await.expect("sent");
        let mut said = [0; GREETING_BYTES];
        server.read_exact(&mut said[1..]).await.expect("what was said");
        let error = server.read(&mut said).await.expect_err("too little");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test]
    async fn who_has_greeted_may_be_silent() {
        let (mut client, mut server) = connection().await;
        client.write_all(&[b'x'; GREETING_BYTES]).await.expect("sent");
        let mut said = [0; GREETING_BYTES];
        server.read_exact(&mut said).await.expect("what was said");
        let silence = tokio::time::timeout(2 * GREETING, server.read(&mut said)).await;
        assert!(silence.is_err(), "it is still listened to");
    }
}

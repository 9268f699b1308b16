//! Files that clients stream: a header, then bytes in chunks, within a bound on each file, each chunk, the time
//! between two of them, and what all uploads of the process hold together.

use std::{
    ops::Deref,
    sync::{Arc, LazyLock},
    time::Duration,
};

use futures::{Stream, StreamExt as _};
use kernel::{
    Digest, RequestId, digest_parts,
    limits::{
        FILE_NAME_CHARS_MAX, UPLOAD_BYTES_IN_FLIGHT_MAX, UPLOAD_CHUNK_BYTES_MAX, UPLOAD_IDLE_MS,
        UPLOAD_MS_MAX,
    },
};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, timeout_at},
};
use tonic::Status;
use wire::common::v1::{Reason, UploadHeader};

use crate::{
    field,
    status::{self, Refusal, invalid},
};

/// One message of an upload.
#[derive(Debug)]
pub enum Part<H = UploadHeader> {
    Header(H),
    Chunk(Vec<u8>),
}

/// A whole uploaded file.
#[derive(Debug)]
pub struct Upload {
    pub request_id: Option<RequestId>,
    /// Empty if the client gave none.
    pub file_name: String,
    /// Only the report is wanted.
    pub validate_only: bool,
    pub bytes: Held,
}

/// Bytes of an upload; while they are held, other uploads have less room.
#[derive(Debug)]
pub struct Held {
    bytes: Vec<u8>,
    room: Option<OwnedSemaphorePermit>,
}

/// What uploads may take of memory and of time.
#[derive(Debug, Clone)]
struct Bounds {
    /// What they may hold together; a permit is a byte.
    bytes: Arc<Semaphore>,
    idle: Duration,
    whole: Duration,
}

static PROCESS: LazyLock<Bounds> = LazyLock::new(|| Bounds {
    bytes: Arc::new(Semaphore::new(UPLOAD_BYTES_IN_FLIGHT_MAX)),
    idle: Duration::from_millis(UPLOAD_IDLE_MS),
    whole: Duration::from_millis(UPLOAD_MS_MAX),
});

/// Reads a whole file; one that is too large is refused as soon as it is.
pub async fn file<T>(
    parts: impl Stream<Item = Result<T, Status>> + Unpin,
    bytes_max: usize,
    part: fn(T) -> Option<Part>,
) -> Result<Upload, Status> {
    let (header, bytes) = receive(parts, bytes_max, part, named).await?;
    let (request_id, UploadHeader { file_name, validate_only, .. }) = header;
    Ok(Upload { request_id, file_name, validate_only, bytes })
}

/// As [`file`], with a header of its own, which `read` checks before the bytes are waited for.
pub async fn receive<T, H, R>(
    parts: impl Stream<Item = Result<T, Status>> + Unpin,
    bytes_max: usize,
    part: fn(T) -> Option<Part<H>>,
    read: impl FnOnce(H) -> Result<R, Status>,
) -> Result<(R, Held), Status> {
    receive_within(&PROCESS, parts, bytes_max, part, read).await
}

async fn receive_within<T, H, R>(
    bounds: &Bounds,
    mut parts: impl Stream<Item = Result<T, Status>> + Unpin,
    bytes_max: usize,
    part: fn(T) -> Option<Part<H>>,
    read: impl FnOnce(H) -> Result<R, Status>,
) -> Result<(R, Held), Status> {
    let end = Instant::now() + bounds.whole;
    let Some(Part::Header(header)) = bounds.next(&mut parts, end).await?.and_then(part) else {
        return Err(invalid("header", "is not the first message"));
    };
    let header = read(header)?;
    let mut held = Held { bytes: Vec::new(), room: None };
    while let Some(message) = bounds.next(&mut parts, end).await? {
        let chunk = match part(message) {
            Some(Part::Chunk(chunk)) => chunk,
            Some(Part::Header(_)) => return Err(invalid("header", "came a second time")),
            None => return Err(invalid("chunk", "is missing")),
        };
        field::at_most("chunk", chunk.len(), "bytes", UPLOAD_CHUNK_BYTES_MAX)?;
        field::at_most("file", held.bytes.len() + chunk.len(), "bytes so far", bytes_max)?;
        held.grow(bounds, &chunk)?;
    }
    Ok((header, held))
}

fn named(header: UploadHeader) -> Result<(Option<RequestId>, UploadHeader), Status> {
    field::chars("header.file_name", &header.file_name, FILE_NAME_CHARS_MAX)?;
    let id = Some(header.request_id.as_str()).filter(|id| !id.is_empty());
    let id = id.map(|id| field::id("header.request_id", RequestId::new(id))).transpose()?;
    Ok((id, header))
}

// === impl Upload ===

impl Upload {
    /// What makes another upload the same request; the request id is not part of it.
    pub fn request_hash(&self) -> Digest {
        let flags = [u8::from(self.validate_only)];
        digest_parts(&[self.file_name.as_bytes(), &flags, &self.bytes])
    }

    /// The file's name, if it has one.
    pub fn named(&self) -> Option<&str> {
        Some(self.file_name.as_str()).filter(|name| !name.is_empty())
    }
}

// === impl Held ===

impl Held {
    fn grow(&mut self, bounds: &Bounds, chunk: &[u8]) -> Result<(), Status> {
        let room = bounds.take(chunk.len())?;
        match &mut self.room {
            Some(held) => held.merge(room),
            None => self.room = Some(room),
        }
        self.bytes.extend_from_slice(chunk);
        Ok(())
    }

    /// The bytes, which no longer count as an upload's.
    pub fn into_vec(self) -> Vec<u8> {
        self.bytes
    }
}

impl Deref for Held {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

// === impl Bounds ===

impl Bounds {
    /// The next message, if it comes in time.
    async fn next<T>(
        &self,
        parts: &mut (impl Stream<Item = Result<T, Status>> + Unpin),
        end: Instant,
    ) -> Result<Option<T>, Status> {
        let idle = Instant::now() + self.idle;
        let came = timeout_at(idle.min(end), parts.next()).await;
        came.map_err(|_| self.given_up(idle < end))?.transpose()
    }

    fn given_up(&self, is_idle: bool) -> Status {
        let why = match is_idle {
            true => format!("nothing came for {} seconds", self.idle.as_secs()),
            false => format!("it took longer than {} seconds", self.whole.as_secs()),
        };
        Refusal::new(Reason::Deadline, format!("the upload was given up: {why}")).into()
    }

    fn take(&self, bytes: usize) -> Result<OwnedSemaphorePermit, Status> {
        let permits = u32::try_from(bytes).unwrap_or(u32::MAX);
        self.bytes.clone().try_acquire_many_owned(permits).map_err(|_| {
            let why = "other uploads hold all the memory that there is for them";
            status::overloaded(why, Duration::from_secs(1))
        })
    }
}

#[cfg(test)]
mod tests {
    use futures::stream;
    use tonic::{Code, Status};

    use super::*;

    const MIB: usize = 1024 * 1024;

    fn header() -> Part {
        Part::Header(UploadHeader { file_name: "a.json".to_owned(), ..Default::default() })
    }

    fn bounds(bytes: usize) -> Bounds {
        let idle = Duration::from_secs(30);
        Bounds { bytes: Arc::new(Semaphore::new(bytes)), idle, whole: 2 * idle }
    }

    async fn received(bounds: &Bounds, parts: Vec<Part>) -> Result<Held, Status> {
        let parts = stream::iter(parts.into_iter().map(Ok));
        receive_within(bounds, parts, 4 * MIB, Some, named).await.map(|(_, held)| held)
    }

    async fn silent_after(bounds: &Bounds, parts: Vec<Part>) -> Result<Held, Status> {
        let parts = stream::iter(parts.into_iter().map(Ok)).chain(stream::pending());
        receive_within(bounds, parts, MIB, Some, named).await.map(|(_, held)| held)
    }

    #[track_caller]
    fn refused(answer: Result<Held, Status>, code: Code, about: &str) {
        let status = answer.expect_err(about);
        assert_eq!(status.code(), code, "{}", status.message());
        assert!(status.message().contains(about), "{}", status.message());
    }

    #[tokio::test]
    async fn a_file_is_its_chunks_in_order() {
        let parts = vec![header(), Part::Chunk(b"ab".to_vec()), Part::Chunk(b"c".to_vec())];
        let held = received(&bounds(MIB), parts).await.expect("a file");
        assert_eq!(&held[..], b"abc");
    }

    #[tokio::test]
    async fn each_bound_is_named() {
        let room = bounds(64 * MIB);
        let none = received(&room, vec![Part::Chunk(Vec::new())]).await;
        refused(none, Code::InvalidArgument, "header");
        let large = received(&room, vec![header(), Part::Chunk(vec![0; MIB + 1])]).await;
        refused(large, Code::ResourceExhausted, "chunk");
        let twice = received(&room, vec![header(), header()]).await;
        refused(twice, Code::InvalidArgument, "header");
        let chunks = (0..5).map(|_| Part::Chunk(vec![0; MIB]));
        let long = received(&room, [header()].into_iter().chain(chunks).collect()).await;
        refused(long, Code::ResourceExhausted, "file");
    }

    #[tokio::test]
    async fn all_uploads_together_have_a_bound_and_give_their_room_back() {
        let room = bounds(MIB);
        let upload = || received(&room, vec![header(), Part::Chunk(vec![0; MIB])]);
        let held = upload().await.expect("there is room");
        let full = upload().await;
        refused(full, Code::ResourceExhausted, "other uploads");
        drop(held);
        upload().await.expect("there is room again");
    }

    #[tokio::test]
    async fn an_upload_that_falls_silent_is_given_up() {
        let bounds = Bounds { idle: Duration::ZERO, ..bounds(MIB) };
        let begun = vec![header(), Part::Chunk(vec![0; MIB])];
        for parts in [Vec::new(), begun] {
            let answer = silent_after(&bounds, parts).await;
            refused(answer, Code::DeadlineExceeded, "nothing came for 0 seconds");
        }
        assert_eq!(bounds.bytes.available_permits(), MIB, "what it held is free");
    }

    #[tokio::test]
    async fn an_upload_that_never_ends_is_given_up() {
        let bounds = Bounds { whole: Duration::ZERO, ..bounds(MIB) };
        let answer = silent_after(&bounds, vec![header()]).await;
        refused(answer, Code::DeadlineExceeded, "longer than 0 seconds");
    }
}

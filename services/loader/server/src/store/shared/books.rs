//! The running copies of cards' books: named before the lorebook hears of them, deleted when nothing uses them.

use async_trait::async_trait;
use kernel::{Digest, Owner, Subject, TenantId, WorldId};

use super::{Backend, Connection, Row, deletions, leases, of_owner, parsed, resources::characters};
use crate::store::{BookStore, Kind, StoreError, WriteError};

const BY_BOOK: &str = "
    select world_id
    from book_copies
    where tenant = $1
        and subject = $2
        and book = $3";

const INSERT: &str = "
    insert into book_copies (tenant, subject, world_id, book, collect_at)
    values ($1, $2, $3, $4, $5)";

/// One that a card points at needs no time, and nobody's time is cut short.
const KEEP: &str = "
    update book_copies
    set collect_at = $4
    where tenant = $1
        and subject = $2
        and world_id = $3
        and collect_at < $4";

const CLAIM: &str = "
    update book_copies
    set collect_at = null
    where tenant = $1
        and subject = $2
        and world_id = $3";

/// Another card of the same book keeps the copy.
const RELEASE: &str = "
    update book_copies
    set collect_at = $4
    where tenant = $1
        and subject = $2
        and world_id = $3
        and not exists (
            select 1
            from characters
            where characters.tenant = book_copies.tenant
                and characters.subject = book_copies.subject
                and characters.embedded_world_id = book_copies.world_id
        )";

const FORGET: &str = "
    delete from book_copies
    where tenant = $1
        and subject = $2
        and world_id = $3";

/// Neither a generation that compiled with it nor a relation that names it may lose a copy.
macro_rules! unused {
    ($now:literal) => {
        concat!(
            " from book_copies where collect_at <= ",
            $now,
            " and not exists (select 1 from leases where leases.tenant = book_copies.tenant",
            " and leases.subject = book_copies.subject",
            " and leases.book_world_id = book_copies.world_id and leases.expires_at > ",
            $now,
            ") and not exists (select 1 from bindings where bindings.tenant = book_copies.tenant",
            " and bindings.subject = book_copies.subject",
            " and bindings.world_id = book_copies.world_id)"
        )
    };
}

const UNUSED: &str = concat!(
    "select world_id",
    unused!("$3"),
    " and tenant = $1 and subject = $2 order by world_id"
);

const OWNERS: &str = concat!("select distinct tenant, subject", unused!("$1"), " limit $2");

#[async_trait]
impl BookStore for Backend {
    async fn begin_book(
        &self,
        owner: &Owner,
        content: &Digest,
        keep_ms: i64,
    ) -> Result<WorldId, WriteError> {
        let (mut write, _) = self.begin(owner, None).await?;
        let tx = &mut write.tx;
        let until = leases::now(tx).await? + keep_ms * 1_000;
        let book = named(owner, content, "");
        let copy = of_owner(BY_BOOK, owner).bind(book.as_str()).fetch_optional(&mut **tx).await;
        let copy = copy.map_err(StoreError::from)?.map(|row| world_of(&row)).transpose()?;
        let world = match copy {
            Some(world) => {
                let keep = of_owner(KEEP, owner).bind(world.as_str()).bind(until);
                keep.execute(&mut **tx).await.map_err(StoreError::from)?;
                world
            }
            None => {
                let again = deletions::is_decided(tx, owner, &book).await?;
                let edition = if again { self.clock.fresh().to_string() } else { String::new() };
                let world = named(owner, content, &edition);
                let insert = of_owner(INSERT, owner).bind(world.as_str()).bind(book.as_str());
                insert.bind(until).execute(&mut **tx).await.map_err(StoreError::from)?;
                world
            }
        };
        write.commit().await?;
        Ok(world)
    }

    async fn collect_books(&self, owner: &Owner) -> Result<Vec<WorldId>, WriteError> {
        let (mut write, _) = self.begin(owner, None).await?;
        let (tx, now) = (&mut write.tx, write.now);
        let unused = of_owner(UNUSED, owner).bind(leases::now(tx).await?);
        let unused = unused.fetch_all(&mut **tx).await.map_err(StoreError::from)?;
        let unused: Vec<WorldId> = unused.iter().map(world_of).collect::<Result<_, _>>()?;
        for world in &unused {
            deletions::clear(tx, owner, world).await?;
            deletions::decide(tx, owner, world, now).await?;
            let forget = of_owner(FORGET, owner).bind(world.as_str());
            forget.execute(&mut **tx).await.map_err(StoreError::from)?;
        }
        write.commit().await?;
        Ok(unused)
    }

    async fn owners_of_unused_books(&self, limit: usize) -> Result<Vec<Owner>, StoreError> {
        let mut tx = self.read().await?;
        let now = leases::now(&mut tx).await?;
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let owners = sqlx::query(OWNERS).bind(now).bind(limit).fetch_all(&mut *tx).await?;
        let owner = |row| {
            Ok(Owner {
                tenant: parsed(row, "book_copies", "tenant", TenantId::new)?,
                subject: parsed(row, "book_copies", "subject", Subject::new)?,
            })
        };
        owners.iter().map(owner).collect()
    }
}

/// A card takes a copy into use. One whose deletion was decided since it was begun is not there any more.
pub(super) async fn claim(
    tx: &mut Connection,
    owner: &Owner,
    copy: Option<&WorldId>,
) -> Result<(), WriteError> {
    let Some(world) = copy else { return Ok(()) };
    let claim = of_owner(CLAIM, owner).bind(world.as_str()).execute(tx);
    match claim.await.map_err(StoreError::from)?.rows_affected() {
        0 => Err(WriteError::NotFound { kind: "world", id: world.to_string() }),
        _ => Ok(()),
    }
}

/// A card has let go of a copy.
pub(super) async fn release(
    tx: &mut Connection,
    owner: &Owner,
    copy: Option<&WorldId>,
) -> Result<(), StoreError> {
    let Some(world) = copy else { return Ok(()) };
    let now = leases::now(tx).await?;
    of_owner(RELEASE, owner).bind(world.as_str()).bind(now).execute(tx).await?;
    Ok(())
}

/// The copy that a resource points at; only a card does.
pub(super) async fn of(
    tx: &mut Connection,
    owner: &Owner,
    kind: Kind,
    id: &str,
) -> Result<Option<WorldId>, StoreError> {
    match kind {
        Kind::Character => characters::embedded_world(tx, owner, id).await,
        Kind::Preset | Kind::User => Ok(None),
    }
}

/// The same bytes of the same owner have the same name; another edition has another one.
fn named(owner: &Owner, content: &Digest, edition: &str) -> WorldId {
    let content = content.to_hex();
    let mut parts = vec![owner.tenant.as_str(), owner.subject.as_str(), "embedded", &content];
    if !edition.is_empty() {
        parts.push(edition);
    }
    WorldId::derived(&parts)
}

fn world_of(row: &Row) -> Result<WorldId, StoreError> {
    parsed(row, "book_copies", "world_id", WorldId::new)
}

-- The running copies of cards' books: which the lorebook may hold, and which nothing uses any more.
create table book_copies (
    tenant text collate "C" not null,
    subject text collate "C" not null,
    world_id text collate "C" not null,
    -- names the book by its content; the copy is called otherwise where an earlier one of it was deleted
    book text collate "C" not null,
    -- from when on it may be deleted, by the database's clock; null while a card points at it
    collect_at bigint,
    primary key (tenant, subject, world_id)
);

create unique index book_copies_by_book on book_copies (tenant, subject, book);
create index book_copies_unused on book_copies (collect_at) where collect_at is not null;
create index characters_by_book on characters (tenant, subject, embedded_world_id)
where embedded_world_id is not null;

insert into book_copies (tenant, subject, world_id, book)
select distinct tenant, subject, embedded_world_id, embedded_world_id
from characters
where embedded_world_id is not null;

-- the running copy that the generation compiled with: it stays for as long as the lease lasts
alter table leases add column book_world_id text collate "C";

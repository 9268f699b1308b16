-- Whoever writes an authored row says so with every write, and nothing slips into its place.

-- Counts with each write that states its writer; a write that does not is refused.
alter table entries add column writes integer not null default 0;

drop trigger entries_authored_insert;

create trigger entries_authored_insert before insert on entries
when new.writer = 'change' and (
    new.layer = 'authored'
    -- `insert or replace` deletes what stands in its way without asking the delete's trigger.
    or exists (
        select 1 from entries
        where tenant = new.tenant and subject = new.subject and world_id = new.world_id
            and entry_id = new.entry_id and layer = 'authored'
    )
)
begin
    select raise(abort, 'authored_row: a change may not insert an authored entry');
end;

drop trigger entries_authored_update;

create trigger entries_authored_update before update on entries
when (old.layer = 'authored' or new.layer = 'authored')
    and (new.writer = 'change' or new.writes <> old.writes + 1)
begin
    select raise(abort, 'authored_row: a change may not write an authored entry');
end;

create trigger entries_key before update of tenant, subject, world_id, entry_id on entries
when (new.tenant, new.subject, new.world_id, new.entry_id)
    <> (old.tenant, old.subject, old.world_id, old.entry_id)
begin
    select raise(abort, 'authored_row: an entry never takes the place of another');
end;

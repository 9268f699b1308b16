-- Whoever writes, no dynamic row takes the place of an authored one: `insert or replace` would delete that one without
-- asking the delete's trigger. PostgreSQL has no such statement.

drop trigger entries_authored_insert;

create trigger entries_authored_insert before insert on entries
when new.writer = 'change' and new.layer = 'authored'
    or (new.writer = 'change' or new.layer = 'dynamic')
    and exists (
        select 1 from entries
        where tenant = new.tenant and subject = new.subject and world_id = new.world_id
            and entry_id = new.entry_id and layer = 'authored'
    )
begin
    select raise(abort, 'authored_row: a change may not insert an authored entry');
end;

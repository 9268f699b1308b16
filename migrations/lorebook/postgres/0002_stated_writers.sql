-- Whoever writes an authored row says so with every write, and nothing slips into its place.

-- Counts with each write that states its writer; a write that does not is refused.
alter table entries add column writes bigint not null default 0;

create function guard_authored() returns trigger language plpgsql as $$
begin
    if (old.layer = 'authored' or new.layer = 'authored') and new.writes <> old.writes + 1 then
        raise exception 'authored_row: whoever writes an authored entry says so';
    end if;
    if (new.tenant, new.subject, new.world_id, new.entry_id)
        <> (old.tenant, old.subject, old.world_id, old.entry_id)
    then
        raise exception 'authored_row: an entry never takes the place of another';
    end if;
    return new;
end
$$;

create trigger entries_stated before update on entries
for each row execute function guard_authored();

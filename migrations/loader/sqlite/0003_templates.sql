-- Selections under a name. What they name may be gone: nothing here is cleared.
create table templates (
    tenant text not null,
    subject text not null,
    template_id text not null,
    -- at most 200 characters
    name text not null,
    -- JSON
    selection blob not null,
    created_at integer not null,
    primary key (tenant, subject, template_id)
) without rowid;

create index templates_by_name on templates (tenant, subject, name, template_id);

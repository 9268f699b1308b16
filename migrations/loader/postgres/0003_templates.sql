-- Selections under a name. What they name may be gone: nothing here is cleared.
create table templates (
    tenant text collate "C" not null,
    subject text collate "C" not null,
    template_id text collate "C" not null,
    -- at most 200 characters
    name text collate "C" not null,
    -- JSON
    selection bytea not null,
    created_at bigint not null,
    primary key (tenant, subject, template_id)
);

create index templates_by_name on templates (tenant, subject, name, template_id);

-- Lists and activations say how many dynamic entries a world has, without reading them.
create index entries_dynamic on entries (tenant, subject, world_id) where layer = 'dynamic';

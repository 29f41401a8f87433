-- The id of an agent may be the URL of a Client ID Metadata Document. Rows that the earlier constraint accepted are valid.
alter table agents drop constraint agents_id_check;
alter table agents add constraint agents_id_check check (
  id ~ '^agt_[A-Za-z0-9_-]{22}$'
  or (length(id) <= 255 and id ~ '^https://[a-z0-9.-]+(:[0-9]{1,5})?/[^[:space:]#]+$')
) not valid;

alter table agents add column document_fetched_at timestamptz;
alter table agents add column document_expires_at timestamptz;
alter table agents add constraint agents_document check (
  (document_fetched_at is null) = (document_expires_at is null)
  and (document_expires_at is null or id like 'https://%')
) not valid;

comment on column agents.document_fetched_at is 'when the document at the URL was requested from which the keys are; null for an agent that registered';
comment on column agents.document_expires_at is 'until then the keys of that document are used, and no token lasts longer; null for an agent that registered';

-- Other instances use the keys of the row until then, so they must learn of it.
drop trigger agents_changed on agents;
create trigger agents_changed
  after update of id, name_sealed, scopes, status, generation, registered_at, jwks, document_expires_at or delete
  on agents for each row execute function notify_agent_changed();

create index agents_by_url on agents (id) where id like 'https://%';

create table blocked_domains (
  domain     text        primary key check (domain ~ '^[a-z0-9.-]{1,253}$'),
  blocked_at timestamptz not null
);
comment on table blocked_domains is 'hosts whose URLs, and those of their subdomains, cannot be agents';

create table blocked_domain_audit (
  number bigint primary key check (number > 0),
  entry  text   not null,
  hash   bytea  not null check (octet_length(hash) = 32)
);
comment on table blocked_domain_audit is 'append-only: every block of a domain and its end';
comment on column blocked_domain_audit.entry is 'JSON, hashed as it stands here';
comment on column blocked_domain_audit.hash is 'SHA-256 of the hash before it, the number and the entry';

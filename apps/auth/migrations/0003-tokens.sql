-- Used only where there is no Redis.
create table tokens (
  token_hash bytea       primary key check (octet_length(token_hash) = 32),
  client_id  text        not null references agents (id),
  generation integer     not null,
  scope      text        not null,
  audience   text        not null,
  issued_at  timestamptz not null,
  expires_at timestamptz not null
);

create index tokens_expires_at on tokens (expires_at);

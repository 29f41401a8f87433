-- A token is over when a stop has raised the epoch above the one it was issued in.
alter table tokens add column epoch bigint not null default 0;

-- One row, which is locked around every stop of tokens.
create table token_stop (
  only_row      boolean     primary key default true check (only_row),
  -- Tokens of a lower epoch are over.
  epoch         bigint      not null default 0,
  -- The last epoch that a stop took for itself, so that none is ever taken twice.
  claimed       bigint      not null default 0 check (claimed >= epoch),
  -- Tokens that were issued before are over.
  issued_before timestamptz
);
insert into token_stop default values;

create table token_stop_audit (
  number        bigint primary key check (number > 0),
  -- JSON, hashed as it stands here.
  entry         text   not null,
  -- SHA-256 of the hash before it and the entry.
  hash          bytea  not null check (octet_length(hash) = 32)
);
comment on table token_stop_audit is 'append-only: every emergency stop of tokens';

-- What each instance of the server says of the secrets of resource servers that it accepts.
create table resource_server_followers (
  instance_id text        primary key,
  host        text        not null,
  -- [{clientId, fingerprint}]; a fingerprint is the beginning of a secret's hash.
  secrets     jsonb       not null,
  problem     text,
  seen_at     timestamptz not null
);

create table resource_server_secrets (
  client_id     text        not null,
  fingerprint   text        not null,
  first_seen_at timestamptz not null,
  -- When it was last shown, at whichever instance.
  used_at       timestamptz,
  primary key (client_id, fingerprint)
);

-- One row. Its lock is taken around every change of the keys; its number says how many there were.
create table key_ring (
  only_row boolean primary key default true check (only_row),
  version  bigint  not null check (version > 0)
);
insert into key_ring (version) values (1);

create table key_audit (
  number        bigint primary key check (number > 0),
  -- JSON, hashed as it stands here.
  entry         text   not null,
  -- SHA-256 of the hash before it and the entry.
  hash          bytea  not null check (octet_length(hash) = 32)
);
comment on table key_audit is 'append-only: every change of a signing key';

-- What each instance of the server says of itself, every few seconds.
create table key_followers (
  instance_id  text        primary key,
  host         text        not null,
  ring_version bigint      not null,
  signing_kid  text,
  -- Signed with the key of signing_kid.
  proof        text,
  problem      text,
  -- When it reached ring_version, and when it last said so, by the database's clock.
  followed_at  timestamptz not null,
  seen_at      timestamptz not null
);

-- Every instance reads the keys again, also after a change made by hand.
create function notify_key_ring_changed() returns trigger language plpgsql as $$
begin
  perform pg_notify('key_ring_changed', '');
  return null;
end
$$;

create trigger signing_keys_changed after insert or update or delete or truncate on signing_keys
  for each statement execute function notify_key_ring_changed();
create trigger key_ring_changed after insert or update or delete on key_ring
  for each statement execute function notify_key_ring_changed();

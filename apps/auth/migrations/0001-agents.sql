create table agents (
  id            text        primary key check (id ~ '^agt_[A-Za-z0-9_-]{22}$'),
  -- Sealed under agents/<id>/name; gone when the agent is deleted.
  name_sealed   bytea,
  scopes        text[]      not null check (cardinality(scopes) > 0),
  status        text        not null check (status in ('active', 'disabled', 'deleted')),
  -- A token lives only under the generation it was issued in; ending the agent raises it.
  generation    integer     not null default 1 check (generation > 0),
  registered_at timestamptz not null
);

create table agent_secrets (
  id          uuid        primary key,
  agent_id    text        not null references agents (id),
  -- HMAC-SHA-256 of the secret under the hash key that is named beside it.
  secret_hash bytea       not null check (octet_length(secret_hash) = 32),
  hash_key_id text        not null,
  created_at  timestamptz not null,
  ends_at     timestamptz
);

create index agent_secrets_agent_id on agent_secrets (agent_id);

-- Every process keeps agents in memory; this tells it which one to forget. It also covers changes made by hand.
create function notify_agent_changed() returns trigger language plpgsql as $$
begin
  if tg_table_name = 'agents' then
    perform pg_notify('agents_changed', coalesce(new.id, old.id));
  elsif tg_op = 'DELETE' then
    perform pg_notify('agents_changed', old.agent_id);
  else
    perform pg_notify('agents_changed', new.agent_id);
  end if;
  return null;
end
$$;

create trigger agents_changed after update or delete on agents
  for each row execute function notify_agent_changed();
create trigger agent_secrets_changed after update or delete on agent_secrets
  for each row execute function notify_agent_changed();

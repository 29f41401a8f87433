-- When the agent last got a token, a day at most too early; null as long as it never got one. It is written before the
-- token is kept, so a null says that no token lives. Whoever does not write it (an earlier release) counts as used.
alter table agents add column last_used_at timestamptz default now();

-- Being used is no change that anybody has to hear of at once: it would empty the memory of every process.
drop trigger agents_changed on agents;
create trigger agents_changed after update of id, name_sealed, scopes, status, generation, registered_at, jwks or delete
  on agents for each row execute function notify_agent_changed();

create index agents_never_used on agents (registered_at, id) where last_used_at is null and status = 'active';
create index agents_last_used_at on agents (last_used_at) where status = 'active';

-- Agents go, too, and what hangs on them is found by them. A token without an agent is none: see `find`.
create index claims_agent_id on claims (agent_id);
alter table tokens drop constraint tokens_client_id_fkey;

-- What is left for a while of an agent that was not used: enough to tell its owner so, and nobody else.
create table expired_agents (
  id            text        primary key check (id ~ '^agt_[A-Za-z0-9_-]{22}$'),
  cause         text        not null check (cause in ('never-used', 'idle', 'flood')),
  -- As in agent_secrets, of each secret that it had; the keys of the hashes stand beside them.
  secret_hashes bytea[]     not null,
  hash_key_ids  text[]      not null check (cardinality(hash_key_ids) = cardinality(secret_hashes)),
  -- As in agents.
  jwks          jsonb       check (jsonb_typeof(jwks) = 'array'),
  expired_at    timestamptz not null
);

create index expired_agents_expired_at on expired_agents (expired_at, id);

create index agent_secrets_ends_at on agent_secrets (ends_at) where ends_at is not null;

-- The agent's public keys, a JSON array of JWKs; null for an agent with a secret. The trigger on agents tells of changes.
alter table agents add column jwks jsonb check (jsonb_typeof(jwks) = 'array' and jsonb_array_length(jwks) between 1 and 3);

-- Each assertion is good once: the row that can be added only once says that it was used.
create table client_assertions (
  -- SHA-256 of the client_id and the assertion's jti.
  assertion_hash bytea       primary key check (octet_length(assertion_hash) = 32),
  -- From then on the assertion would be refused anyway.
  expires_at     timestamptz not null
);

create index client_assertions_expires_at on client_assertions (expires_at);

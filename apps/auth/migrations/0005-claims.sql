-- A person's confirmation that an agent speaks for them: they control the mailbox, and said yes.
create table claims (
  -- Also what agents are told as registration_id.
  id             text        primary key check (id ~ '^clm_[A-Za-z0-9_-]{22}$'),
  agent_id       text        not null references agents (id),
  -- Sealed under claims/<id>/email. Address and hash are gone as soon as the claim has ended.
  email_sealed   bytea,
  email_hash     bytea       check (octet_length(email_hash) = 32),
  email_hash_key text,
  -- SHA-256 of the secret in the link that ends it.
  end_link_hash  bytea       not null unique check (octet_length(end_link_hash) = 32),
  verified_at    timestamptz not null,
  expires_at     timestamptz not null check (expires_at > verified_at),
  ended_at       timestamptz,
  ended_by       text check (ended_by in ('person', 'agent', 'operator', 'superseded', 'agent-deleted', 'expired')),
  check ((ended_at is null) = (ended_by is null)),
  check ((ended_at is null) = (email_sealed is not null)),
  check ((email_sealed is null) = (email_hash is null)),
  check ((email_hash is null) = (email_hash_key is null))
);

create unique index claims_one_lives on claims (agent_id) where ended_at is null;
create index claims_ended_at on claims (ended_at) where ended_at is not null;
create index claims_expires_at on claims (expires_at) where ended_at is null;

-- What leads to a claim, or to none.
create table claim_attempts (
  id                  text        primary key check (id ~ '^cla_[A-Za-z0-9_-]{22}$'),
  -- The id of the claim it may become.
  registration_id     text        not null unique check (registration_id ~ '^clm_[A-Za-z0-9_-]{22}$'),
  agent_id            text        not null references agents (id),
  state               text        not null check (state in
    ('initiated', 'sent', 'code_shown', 'completed', 'locked', 'declined', 'expired', 'superseded', 'failed')),
  -- SHA-256 of the secret in the mailed link.
  link_hash           bytea       not null unique check (octet_length(link_hash) = 32),
  link_expires_at     timestamptz not null,
  created_at          timestamptz not null,
  -- Of the address: sealed under claims/<registration_id>/email, and keyed hashes of it and of its mailbox.
  email_sealed        bytea,
  email_hash          bytea       check (octet_length(email_hash) = 32),
  mailbox_hash        bytea       check (octet_length(mailbox_hash) = 32),
  -- Sealed under claim_attempts/<id>/match-phrase.
  match_phrase_sealed bytea,
  -- HMAC of id and code.
  code_hash           bytea       check (octet_length(code_hash) = 32),
  code_expires_at     timestamptz,
  -- The key of the three keyed hashes.
  hash_key_id         text        not null,
  presses             smallint    not null default 0 check (presses between 0 and 3),
  tries               smallint    not null default 0 check (tries between 0 and 5),
  -- All that is personal is there exactly as long as the attempt is open.
  constraint claim_attempts_personal check
    ((state in ('initiated', 'sent', 'code_shown')) = (email_sealed is not null)
     and (email_sealed is null) = (email_hash is null)
     and (email_sealed is null) = (mailbox_hash is null)
     and (email_sealed is null) = (match_phrase_sealed is null)),
  constraint claim_attempts_code check
    ((state = 'code_shown') = (code_hash is not null) and (code_hash is null) = (code_expires_at is null))
);

create unique index claim_attempts_one_open on claim_attempts (agent_id)
  where state in ('initiated', 'sent', 'code_shown');
create index claim_attempts_agent_id on claim_attempts (agent_id, created_at);
create index claim_attempts_created_at on claim_attempts (created_at);

-- A row for each code that was entered and not the right one, whatever became of its attempt and agent.
create table claim_tries (
  id           bigint      generated always as identity primary key,
  attempt_id   text        not null,
  mailbox_hash bytea       not null check (octet_length(mailbox_hash) = 32),
  hash_key_id  text        not null,
  tried_at     timestamptz not null
);

create index claim_tries_mailbox_hash on claim_tries (mailbox_hash, tried_at);
create index claim_tries_tried_at on claim_tries (tried_at);

-- Mailboxes whose owner said no: agents that they did not confirm before do not reach them.
create table claim_blocks (
  mailbox_hash bytea       primary key check (octet_length(mailbox_hash) = 32),
  hash_key_id  text        not null,
  until        timestamptz not null
);

create index claim_blocks_until on claim_blocks (until);

-- Which identity assertions may still be exchanged. One that is not here was ended, has expired or was never issued.
create table identity_assertions (
  jti        uuid        primary key,
  claim_id   text        not null references claims (id) on delete cascade,
  issued_at  timestamptz not null,
  expires_at timestamptz not null
);

create index identity_assertions_claim_id on identity_assertions (claim_id, issued_at desc);
create index identity_assertions_expires_at on identity_assertions (expires_at);

-- Set on a token that was got with an assertion: it ends with its claim.
alter table tokens add column claim_id text references claims (id) on delete cascade;
create index tokens_claim_id on tokens (claim_id) where claim_id is not null;

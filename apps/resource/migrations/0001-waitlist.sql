create table waitlist_entries (
  id uuid primary key,
  email_sealed bytea not null,
  email_hash bytea not null check (octet_length(email_hash) = 32),
  email_hash_key text not null,
  referral_slug text not null check (referral_slug ~ '^[a-z2-7]{16}$'),
  referred_by uuid references waitlist_entries (id) on delete set null,
  joined_at timestamptz not null,
  constraint waitlist_entries_email_hash unique (email_hash),
  constraint waitlist_entries_referral_slug unique (referral_slug)
);

comment on table waitlist_entries is 'people who asked to join; one row for each mailbox';
comment on column waitlist_entries.email_sealed is 'the address as typed, AES-256-GCM, context waitlist_entries/<id>/email';
comment on column waitlist_entries.email_hash is 'HMAC-SHA-256 of the canonical address under the label email-index/waitlist';
comment on column waitlist_entries.email_hash_key is 'the id of the hash key of email_hash';

create index waitlist_entries_referred_by on waitlist_entries (referred_by) where referred_by is not null;

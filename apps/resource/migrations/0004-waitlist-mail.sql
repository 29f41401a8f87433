alter table waitlist_entries add column confirmed_at timestamptz;

comment on column waitlist_entries.confirmed_at is 'when the person confirmed by the link of the mail; only then the referrer is credited';

create table waitlist_links (
  id uuid primary key,
  secret_hash bytea not null check (octet_length(secret_hash) = 32),
  purpose text not null check (purpose in ('confirm', 'remove', 'forget')),
  email_hash bytea not null check (octet_length(email_hash) = 32),
  created_at timestamptz not null,
  constraint waitlist_links_secret_hash unique (secret_hash)
);

comment on table waitlist_links is 'links in mails of the waitlist; confirm and remove as long as the entry, forget 7 days';
comment on column waitlist_links.secret_hash is 'SHA-256 of the 256 random bits in the link';
comment on column waitlist_links.email_hash is 'that of the entry; one of forget may have no entry';

create index waitlist_links_email_hash on waitlist_links (email_hash);
create index waitlist_links_forget on waitlist_links (created_at) where purpose = 'forget';

create table desk_audit (
  id bigint generated always as identity primary key,
  at timestamptz not null,
  actor text not null,
  action text not null,
  about text not null
);

comment on table desk_audit is 'append-only: who read or erased addresses or messages by the command line';
comment on column desk_audit.about is 'ids and numbers; never an address';

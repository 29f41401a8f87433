create table mails (
  id uuid primary key,
  kind text not null,
  about text not null,
  mail_sealed bytea,
  message_id text not null,
  state text not null default 'queued' check (state in ('queued', 'sent', 'dropped', 'dead')),
  attempts integer not null default 0,
  created_at timestamptz not null,
  overdue_at timestamptz not null,
  leased_until timestamptz,
  counted_at timestamptz,
  mailbox_hash bytea,
  domain_hash bytea,
  hash_key text,
  settled_at timestamptz,
  constraint mails_message_id unique (message_id),
  constraint mails_settled check ((state = 'queued') = (settled_at is null)),
  constraint mails_content check (case when state = 'queued' then mail_sealed is not null
    when state <> 'dead' then mail_sealed is null else true end),
  constraint mails_counted check (num_nonnulls(mailbox_hash, domain_hash, hash_key) in (0, 3))
);

comment on table mails is 'mail to be sent, and what became of it; content goes when it is settled, rows 30 days later';
comment on column mails.about is 'what the mail is about, an id that the kind knows; never an address';
comment on column mails.mail_sealed is 'addressee, subject, text; AES-256-GCM, context mails/<id>/mail';
comment on column mails.message_id is 'the Message-ID of every delivery; the domain is added before the first';
comment on column mails.overdue_at is 'from then on nobody works on it any more, and a job is made anew';
comment on column mails.counted_at is 'when it was counted against the caps';
comment on column mails.mailbox_hash is 'HMAC-SHA-256 of the mailbox under the label mail/mailbox; gone after 25 hours';
comment on column mails.domain_hash is 'HMAC-SHA-256 of the domain under the label mail/domain; gone after 25 hours';

create index mails_overdue_at on mails (overdue_at) where state = 'queued';
create index mails_mailbox_hash on mails (mailbox_hash, counted_at) where mailbox_hash is not null;
create index mails_domain_hash on mails (domain_hash, counted_at) where domain_hash is not null;
create index mails_counted_at on mails (counted_at) where counted_at is not null;
create index mails_settled_at on mails (settled_at) where settled_at is not null;

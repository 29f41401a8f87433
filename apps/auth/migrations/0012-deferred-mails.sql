alter table mails add column sender_hash bytea;
alter table mails add column asked_for boolean not null default false;
alter table mails add column deferred_by text;
alter table mails add constraint mails_deferred_by check (deferred_by in ('domain', 'all')) not valid;

comment on column mails.sender_hash is 'HMAC-SHA-256 of the network that asked for it (an IPv4 address or an IPv6 /48) under the label mail/sender; null where no cap applies; gone a day and an hour after the mail is settled';
comment on column mails.asked_for is 'whether a person is known to have asked for it: such mails go first, and may use all of a cap';
comment on column mails.deferred_by is 'the cap that had no room for it; it waits for a place until it is counted';

create index mails_waiting on mails (kind, sender_hash) where state = 'queued' and deferred_by is not null and counted_at is null;
create index mails_due on mails (asked_for desc, overdue_at) where state = 'queued';
create index mails_hashed on mails (settled_at) where coalesce(sender_hash, domain_hash) is not null;

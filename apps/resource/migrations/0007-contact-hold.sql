alter table contact_messages add column held_until timestamptz;
alter table contact_messages add column hand_off_sealed bytea;
alter table contact_messages add column content_hash bytea;
alter table contact_messages add column withdraw_hash bytea;

comment on column contact_messages.held_until is 'when its mail to staff falls due; null for a message from the page that is not confirmed, and for one of a release that held none';
comment on column contact_messages.hand_off_sealed is 'ids of hand-off triggers, as JSON, AES-256-GCM, context contact_messages/<id>/hand-off; null where there are none';
comment on column contact_messages.content_hash is 'HMAC-SHA-256 of who wrote and what, to find the same message again; gone after 24 hours';
comment on column contact_messages.withdraw_hash is 'SHA-256 of the 256 random bits in the link that withdraws the message';

create unique index contact_messages_withdraw_hash on contact_messages (withdraw_hash) where withdraw_hash is not null;
create index contact_messages_content_hash on contact_messages (content_hash) where content_hash is not null;

create table contact_messages (
  id uuid primary key,
  registration_id text,
  topic text not null check (topic in ('question', 'attorney', 'correction', 'other')),
  guide_slug text,
  message_sealed bytea,
  reply_sealed bytea,
  state text not null check (state in ('unconfirmed', 'received', 'delivered', 'erased')),
  created_at timestamptz not null,
  delivered_at timestamptz,
  erased_at timestamptz,
  link_hash bytea,
  idempotency_hash bytea,
  request_hash bytea,
  constraint contact_messages_link_hash unique (link_hash),
  constraint contact_messages_idempotency_hash unique (idempotency_hash),
  constraint contact_messages_content check (
    (state = 'erased') = (message_sealed is null) and (state = 'erased') = (reply_sealed is null)),
  constraint contact_messages_erased check ((state = 'erased') = (erased_at is not null)),
  constraint contact_messages_unconfirmed check ((state = 'unconfirmed') = (link_hash is not null)),
  constraint contact_messages_idempotency check ((idempotency_hash is null) = (request_hash is null))
);

comment on table contact_messages is 'messages to the desk; text and address go 90 days after delivery, the row stays';
comment on column contact_messages.registration_id is 'who may see and take it back; null for a message from the page';
comment on column contact_messages.message_sealed is 'AES-256-GCM, context contact_messages/<id>/message';
comment on column contact_messages.reply_sealed is 'the address to answer, AES-256-GCM, context contact_messages/<id>/reply';
comment on column contact_messages.link_hash is 'SHA-256 of the 256 random bits in the link that confirms a message from the page';
comment on column contact_messages.idempotency_hash is 'HMAC-SHA-256 of registration and Idempotency-Key; gone after 24 hours';
comment on column contact_messages.request_hash is 'HMAC-SHA-256 of the body that came with the key';

create index contact_messages_created_at on contact_messages (created_at);

alter table contact_messages add column owner text;
alter table contact_messages add column answered_at timestamptz;
alter table contact_messages add column closed_at timestamptz;
alter table contact_messages add column note_sealed bytea;

comment on column contact_messages.owner is 'the member of staff who deals with it, by name';
comment on column contact_messages.answered_at is 'when staff said that they had answered it; the public API does not show it';
comment on column contact_messages.closed_at is 'when staff closed it; the public API does not show it';
comment on column contact_messages.note_sealed is 'what staff noted when they closed it, AES-256-GCM, context contact_messages/<id>/note; goes with the text';

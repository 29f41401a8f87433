alter table contact_messages add column link_renewed_at timestamptz;

comment on column contact_messages.link_renewed_at is 'since when the link of an unconfirmed message works, where its mail had to wait; null: since created_at';

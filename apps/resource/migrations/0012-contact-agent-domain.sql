alter table contact_messages add column agent_domain_sealed bytea;

comment on column contact_messages.agent_domain_sealed is 'the verified domain of the agent that wrote it, AES-256-GCM, context contact_messages/<id>/agent-domain; null where it has none';

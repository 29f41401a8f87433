alter table tokens add column jkt text;
comment on column tokens.jkt is 'thumbprint of the key that the token is bound to (RFC 9449); null for a bearer token';

alter table agents add column dpop_bound boolean not null default false;
alter table agents add column contact_bound_since integer;
comment on column agents.dpop_bound is 'whether each of its tokens must be bound to a key (RFC 9449 dpop_bound_access_tokens)';
comment on column agents.contact_bound_since is 'while contact:write needs a token that is bound to a key: the generation that this began with';

create trigger agents_dpop_changed after update of dpop_bound, contact_bound_since
  on agents for each row execute function notify_agent_changed();

comment on table client_assertions is 'client assertions, proofs of new keys and, where there is no Redis, DPoP proofs that were used: each is accepted once';

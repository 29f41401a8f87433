-- People who sign in from chat apps and IDEs (decision 0039). An app is an OAuth client that any number of people use; one
-- person's sign-in with it is a connection, which is a row of agents.
alter table agents add column app_client_id text;
alter table agents add column app_host text;
alter table agents add constraint agents_connection check (
  (app_client_id is null) = (app_host is null) and (app_client_id is null or (id like 'agt\_%' and jwks is null))
) not valid;
comment on column agents.app_client_id is 'the client_id of the app, for a connection; null for an agent with credentials of its own';
comment on column agents.app_host is 'where the sign-in returned to: a host, `loopback`, or a scheme such as `cursor:`; null for an agent with credentials of its own';

create index agents_of_apps on agents (registered_at, id) where app_client_id is not null;
create index agents_by_app_host on agents (app_host) where app_host is not null;

create table app_clients (
  id                  text        primary key check (
    id ~ '^app_[A-Za-z0-9_-]{22}$'
    or (length(id) <= 255 and id ~ '^https://[a-z0-9.-]+(:[0-9]{1,5})?/[^[:space:]#]+$')
  ),
  redirect_uris       text[]      not null check (cardinality(redirect_uris) between 1 and 20),
  name_sealed         bytea,
  application_type    text        not null check (application_type in ('web', 'native')),
  auth_method         text        not null check (auth_method in ('none', 'private_key_jwt')),
  jwks                jsonb       check (jsonb_typeof(jwks) = 'array'),
  registered_at       timestamptz not null,
  used_at             timestamptz,
  document_fetched_at timestamptz,
  document_expires_at timestamptz,
  check ((document_fetched_at is null) = (document_expires_at is null)),
  check ((document_expires_at is null) = (id like 'app\_%')),
  check ((auth_method = 'private_key_jwt') = (jwks is not null))
);
comment on table app_clients is 'apps that people connect from: registered ones, and the documents of those that are known by a URL';
comment on column app_clients.name_sealed is 'the name that the app gave itself, encrypted under app_clients/<id>/name';
comment on column app_clients.used_at is 'when a person last signed in with it, a day at most too early; null before that';

create index app_clients_unused on app_clients (registered_at) where used_at is null;
create index app_clients_used_at on app_clients (used_at);

create table sign_ins (
  interaction_hash bytea       primary key check (octet_length(interaction_hash) = 32),
  agent_id         text        not null references agents (id) on delete cascade,
  codes            smallint    not null default 0 check (codes between 0 and 3),
  expires_at       timestamptz not null
);
comment on table sign_ins is 'sign-ins whose e-mail address was given: the connection that one of them may become';
comment on column sign_ins.interaction_hash is 'SHA-256 of the id of the interaction';
comment on column sign_ins.codes is 'how many codes were mailed, to whichever address';

create index sign_ins_agent_id on sign_ins (agent_id);
create index sign_ins_expires_at on sign_ins (expires_at);

create table oauth_records (
  id             text        primary key check (id ~ '^(Interaction|Grant|AuthorizationCode|RefreshToken):[A-Za-z0-9_-]{43}$'),
  grant_id       text,
  payload_sealed bytea       not null,
  epoch          bigint      not null,
  created_at     timestamptz not null,
  expires_at     timestamptz not null,
  consumed_at    timestamptz
);
comment on table oauth_records is 'what oidc-provider stores; its sessions are never stored, and its access tokens are in tokens or in Redis';
comment on column oauth_records.id is 'the model, and the SHA-256 of the id, which for a code and a refresh token is the secret itself, in base64url';
comment on column oauth_records.grant_id is 'for a code and a refresh token, the id here of the grant that it belongs to';
comment on column oauth_records.payload_sealed is 'JSON, encrypted under oauth_records/<id>';
comment on column oauth_records.epoch is 'the emergency revocation epoch in which it was stored';
comment on column oauth_records.consumed_at is 'when a code or a refresh token was first used';

create index oauth_records_grant_id on oauth_records (grant_id, created_at) where grant_id is not null;
create index oauth_records_expires_at on oauth_records (expires_at);

-- A refresh token or a code that was used twice ends the claim of its connection.
alter table claims drop constraint claims_ended_by_check;
alter table claims add constraint claims_ended_by_check check (
  ended_by in ('person', 'agent', 'operator', 'superseded', 'agent-deleted', 'expired', 'reused')
) not valid;

-- An attempt of a sign-in has a code at once, in its mail, and neither a link nor words to compare.
alter table claim_attempts add column purpose text not null default 'agent';
alter table claim_attempts add constraint claim_attempts_purpose check (
  purpose in ('agent', 'sign-in') and (purpose = 'agent') = (link_hash is not null)
) not valid;
comment on column claim_attempts.purpose is 'agent: an agent asked for it, and the code is on the page behind the link; sign-in: a person signs in, and the code is in the mail';
alter table claim_attempts alter column link_hash drop not null;
alter table claim_attempts drop constraint claim_attempts_personal;
alter table claim_attempts add constraint claim_attempts_personal check (
  (state in ('initiated', 'sent', 'code_shown')) = (email_sealed is not null)
  and (email_sealed is null) = (email_hash is null)
  and (email_sealed is null) = (mailbox_hash is null)
  and (email_sealed is null or purpose = 'sign-in') = (match_phrase_sealed is null)
) not valid;

-- All that a person has given access to.
create index claims_email_hash on claims (email_hash) where email_hash is not null;

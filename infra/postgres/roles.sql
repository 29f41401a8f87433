-- Creates two databases, each with a role that owns its tables and a role for its app. An administrator runs this once:
--   psql -v ON_ERROR_STOP=1 -f passwords.psql -f infra/postgres/roles.sql
-- passwords.psql sets four variables (\set auth_owner '…'), preferably to SCRAM verifiers, so that no password is sent.
-- `migrate` grants the rights of the app's role on each table.
create role plainpath_auth_owner login password :'auth_owner';
create role plainpath_auth_app login password :'auth_app';
create role plainpath_resource_owner login password :'resource_owner';
create role plainpath_resource_app login password :'resource_app';

-- By default every role may connect to these two and create temporary tables there.
revoke all on database postgres, template1 from public;

create database plainpath_auth owner plainpath_auth_owner;
revoke all on database plainpath_auth from public;
grant connect on database plainpath_auth to plainpath_auth_app;

create database plainpath_resource owner plainpath_resource_owner;
revoke all on database plainpath_resource from public;
grant connect on database plainpath_resource to plainpath_resource_app;

\connect plainpath_auth
revoke all on schema public from public;
grant create, usage on schema public to plainpath_auth_owner;
grant usage on schema public to plainpath_auth_app;

\connect plainpath_resource
revoke all on schema public from public;
grant create, usage on schema public to plainpath_resource_owner;
grant usage on schema public to plainpath_resource_app;

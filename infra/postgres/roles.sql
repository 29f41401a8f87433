-- Two databases, each with the role that owns its tables and the role its app works as. Run once by an administrator:
--   psql -v ON_ERROR_STOP=1 -f passwords.psql -f infra/postgres/roles.sql
-- passwords.psql sets four variables (\set auth_owner '…'), best to SCRAM verifiers, so that no password is sent.
-- What the app's role may do with each table is granted by `migrate`.
create role plainpath_auth_owner login password :'auth_owner';
create role plainpath_auth_app login password :'auth_app';
create role plainpath_resource_owner login password :'resource_owner';
create role plainpath_resource_app login password :'resource_app';

-- Every role may otherwise connect to these two, and make temporary tables there.
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

create table trigger_reviews (
  id bigint generated always as identity primary key,
  trigger_id text not null check (trigger_id ~ '^[a-z0-9]+(-[a-z0-9]+)*$'),
  version text not null check (version <> ''),
  reviewed_on date not null,
  reviewed_by text not null check (reviewed_by <> '')
);

comment on table trigger_reviews is 'append-only: which attorney read which version of a hand-off trigger, and when';
comment on column trigger_reviews.version is 'as `GET /api/triggers` gives it';

create index trigger_reviews_version on trigger_reviews (trigger_id, version, id);

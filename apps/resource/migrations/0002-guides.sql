create table guide_versions (
  slug text not null check (slug ~ '^[a-z0-9]+(-[a-z0-9]+)*$'),
  version integer not null check (version >= 1),
  content jsonb not null,
  published_at timestamptz not null,
  primary key (slug, version)
);

comment on table guide_versions is 'append-only: every version of a guide that was ever published';
comment on column guide_versions.content is 'the guide as its file told it';

create index guide_versions_published_at on guide_versions (published_at);

create table guides (
  slug text primary key,
  version integer not null,
  retired_at timestamptz,
  successor text references guides (slug),
  constraint guides_version foreign key (slug, version) references guide_versions (slug, version),
  constraint guides_retired check ((retired_at is null) = (successor is null)),
  constraint guides_successor check (successor <> slug)
);

comment on table guides is 'which version of each guide is served; a retired one is answered with its successor';

create table guide_reviews (
  id bigint generated always as identity primary key,
  slug text not null,
  version integer not null,
  reviewed_on date not null,
  reviewed_by text not null check (reviewed_by <> ''),
  constraint guide_reviews_version foreign key (slug, version) references guide_versions (slug, version)
);

comment on table guide_reviews is 'append-only: which attorney read which version, and when';

create index guide_reviews_version on guide_reviews (slug, version, id);

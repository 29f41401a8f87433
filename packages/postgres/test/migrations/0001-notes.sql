create table notes (
  id bigint generated always as identity primary key,
  slug text not null constraint notes_slug_key unique,
  body text not null default '{}'
);
-- up migration: these words are part of a comment, and what stands before them is applied too
create index notes_body_idx on notes (body);

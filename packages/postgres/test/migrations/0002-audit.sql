create table audit (note_id bigint not null references notes, what text not null);
comment on table audit is 'append-only: what happened to a note stays'

create table answer_switches (
  kind text not null check (kind in ('answers', 'section', 'trigger')),
  target text not null check (target <> ''),
  reason text,
  since timestamptz not null,
  primary key (kind, target)
);

comment on table answer_switches is 'what operators turned off: all answers, sections of guides, hand-off triggers; turning it on again removes the row';
comment on column answer_switches.target is 'the id of the section or the trigger; `all` for answers';
comment on column answer_switches.reason is 'why, in the words of the operator; never of a person';

comment on table desk_audit is 'append-only: who read or erased addresses or messages, and who turned answers off and on, by the command line';
comment on column desk_audit.about is 'ids, numbers and the reasons of operators; never an address';

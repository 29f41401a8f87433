-- What commands compare themselves with before they change anything. Null for an instance of an earlier release.
alter table key_followers add column release text;
alter table key_followers add column origin text;
-- The store of tokens: its kind; for Redis also its random id, its prefix, its database and its address.
alter table key_followers add column token_store jsonb;
-- The ids of the key-encryption keys that the instance has.
alter table key_followers add column kek_ids text[];
-- What the instance said of the last token that a command asked it for: the question, and `active` or `inactive`.
alter table key_followers add column canary text;

-- One row: the store of tokens that an instance last reported. It outlasts the instances.
create table token_store_in_use (
  only_row    boolean     primary key default true check (only_row),
  -- As in key_followers; null until an instance has reported one.
  token_store jsonb,
  reported_at timestamptz
);
insert into token_store_in_use default values;

-- Why an operator disabled or deleted the agent; null for any other, or when nobody said why.
alter table agents add column status_reason text;

create table used_proofs (
  proof_hash bytea primary key check (octet_length(proof_hash) = 32),
  expires_at timestamptz not null
);

comment on table used_proofs is 'DPoP proofs that were used (RFC 9449), where there is no Redis: each is accepted once';
comment on column used_proofs.proof_hash is 'SHA-256 of the thumbprint of the key and the jti';
comment on column used_proofs.expires_at is 'when no instance accepts the proof any more';

create index used_proofs_expires_at on used_proofs (expires_at);

create table signing_keys (
  kid            text        primary key,
  algorithm      text        not null check (algorithm in ('ES256', 'EdDSA')),
  state          text        not null check (state in ('generated', 'published', 'signing', 'retiring', 'retired', 'revoked')),
  state_since    timestamptz not null,
  created_at     timestamptz not null,
  public_jwk     jsonb       not null,
  -- Sealed under signing_keys/<kid>; destroyed when the key has stopped signing.
  private_sealed bytea
);

-- Exactly one key signs; two first starts at once cannot both make one.
create unique index signing_keys_one_signs on signing_keys ((true)) where state = 'signing';

import type { ProblemKind } from './problem-kind.ts'

/** What can be wrong with a client and with what it authenticates by. */
export const CLIENT_PROBLEMS = {
  'invalid-client': {
    status: 401,
    title: 'Client authentication failed',
    meaning: 'The client is unknown, or its secret or assertion is not accepted.',
    remedy:
      'Check client_id and client_secret, or make a new assertion. A lost secret cannot be recovered: register again.',
    oauth: 'invalid_client',
  },
  'client-expired': {
    status: 401,
    title: 'The registration has expired',
    meaning:
      'This client got no token for 7 days after it registered, or for 90 days. It has ended, and its data is erased.',
    remedy: 'Register again with POST /api/agent/register. No prior credential is needed.',
    oauth: 'invalid_client',
  },
  'last-secret': {
    status: 409,
    title: 'This is the only secret of the client',
    meaning: 'Without a secret the client could not authenticate any more. Nothing was done.',
    remedy: 'Get another one with POST /api/agent/secrets first, or end the client with DELETE /api/agent.',
    oauth: 'last_secret',
  },
  'too-many-secrets': {
    status: 409,
    title: 'The client has two secrets already',
    meaning:
      'A client has at most two secrets: a new one, and for a while the one before it. Nothing was done.',
    remedy:
      'End one of them with DELETE /api/agent/secrets/{id}; GET /api/agent lists them. Or wait for the end of the older one.',
    oauth: 'too_many_secrets',
  },
  'client-has-keys': {
    status: 409,
    title: 'The client authenticates by keys',
    meaning: 'A client that registered keys has no secrets (RFC 7591 §2). Nothing was done.',
    remedy: 'Replace the keys with PUT /api/agent/jwks, or register again without jwks.',
    oauth: 'client_has_keys',
  },
} as const satisfies Record<string, ProblemKind>

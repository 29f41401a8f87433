import type { Fault } from './fault.ts'
import { createConnectionFault, type FaultCase } from './fault-case.ts'

const CONNECTION_FAULTS: readonly { readonly what: string; readonly fault: Fault }[] = [
  { what: 'refused', fault: { kind: 'refuse' } },
  { what: 'half-open', fault: { kind: 'half-open' } },
  { what: '3 s slow', fault: { kind: 'latency', ms: 1_500, jitterMs: 200 } },
  { what: 'cut in the middle of replies', fault: { kind: 'cut-after', bytes: 300 } },
]

export const AUTH_FAULTS: readonly FaultCase[] = [
  ...CONNECTION_FAULTS.map(({ what, fault }) =>
    createConnectionFault({
      name: `auth to the API: ${what}`,
      numbers: [
        'F-25',
        ...(what === 'half-open' ? (['F-23'] as const) : []),
        ...(what.startsWith('cut') ? (['F-26'] as const) : []),
      ],
      connections: ['introspection'],
      parts: ['introspection'],
      refuses: ['read with a token'],
      failsCheck: 'auth',
      fault,
    }),
  ),
  createConnectionFault({
    name: 'auth to the API: the responses with the key set are lost',
    numbers: ['F-27'],
    connections: ['introspection'],
    parts: ['introspection'],
    // An API trusts its key set for a second. Reads with cached introspections need no key set.
    refuses: ['read with a token'],
    maxRefusedShare: 0.35,
    failsCheck: 'auth',
    minSeconds: { steady: 0.5, held: 3, recovery: 0.5 },
    fault: { kind: 'lose-reply-to', request: 'GET /oauth/jwks.json ' },
  }),
  {
    name: 'auth: one process of two is suspended (SIGSTOP)',
    numbers: ['F-33'],
    parts: ['auth', 'introspection'],
    // The gateway waits 6 s for a process.
    maxResponseMs: 7_000,
    // Each API process loses at most the introspections in flight at the suspended process, and then uses the other one.
    refuses: [],
    begin: async ({ stack }) => void stack.auth[0]?.child.kill('SIGSTOP'),
    end: async ({ stack }) => void stack.auth[0]?.child.kill('SIGCONT'),
  },
  {
    name: 'auth: both processes kill -9 and started',
    numbers: ['F-18', 'F-25'],
    parts: ['auth'],
    refuses: ['read with a token', 'token', 'register'],
    failsCheck: 'auth',
    begin: async ({ stack }) => void (await Promise.all(stack.auth.map((app) => app.stop('SIGKILL')))),
    end: async ({ stack }) => void (await Promise.all(stack.auth.map((app) => app.start()))),
  },
]

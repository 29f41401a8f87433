import type { Fault } from './fault.ts'
import { createConnectionFault, type FaultCase } from './fault-case.ts'
import type { FaultNumber } from './fault-numbers.ts'

interface ConnectionFault {
  readonly description: string
  readonly numbers: readonly FaultNumber[]
  readonly fault: Fault
}

const CONNECTION_FAULTS: readonly ConnectionFault[] = [
  { description: 'refused', numbers: ['F-25'], fault: { kind: 'refuse' } },
  { description: 'half-open', numbers: ['F-25', 'F-23'], fault: { kind: 'half-open' } },
  // The latency applies to each direction, so a reply takes about 3 s.
  { description: '3 s slow', numbers: ['F-25'], fault: { kind: 'latency', ms: 1_500, jitterMs: 200 } },
  {
    description: 'cut in the middle of replies',
    numbers: ['F-25', 'F-26'],
    fault: { kind: 'cut-after', bytes: 300 },
  },
]

/** Faults of the authorization server, and of the connection from the API to it. */
export const AUTH_FAULTS: readonly FaultCase[] = [
  ...CONNECTION_FAULTS.map(({ description, numbers, fault }) =>
    createConnectionFault({
      name: `auth to the API: ${description}`,
      numbers,
      connections: ['introspection'],
      components: ['introspection'],
      refusedOperations: ['read with a token'],
      failingCheck: 'auth',
      fault,
    }),
  ),
  createConnectionFault({
    name: 'auth to the API: the responses with the key set are lost',
    numbers: ['F-27'],
    connections: ['introspection'],
    components: ['introspection'],
    // In this stack, an API trusts a key set for one second. Reads with cached introspections need no key set.
    refusedOperations: ['read with a token'],
    maxRefusedShare: 0.35,
    failingCheck: 'auth',
    minSeconds: { steady: 0.5, held: 3, recovery: 0.5 },
    fault: { kind: 'lose-reply-to', request: 'GET /oauth/jwks.json ' },
  }),
  {
    name: 'auth: one process of two is suspended (SIGSTOP)',
    numbers: ['F-33'],
    components: ['auth', 'introspection'],
    // The gateway waits up to 6 s for the headers of a response.
    maxResponseMs: 7_000,
    // The suspended process serves nothing, but requests to the other process succeed.
    refusedOperations: [],
    begin: async ({ stack }) => void stack.auth[0]?.child.kill('SIGSTOP'),
    end: async ({ stack }) => void stack.auth[0]?.child.kill('SIGCONT'),
  },
  {
    name: 'auth: both processes killed (kill -9) and restarted',
    numbers: ['F-18', 'F-25'],
    components: ['auth'],
    refusedOperations: ['read with a token', 'token', 'register'],
    failingCheck: 'auth',
    begin: async ({ stack }) => void (await Promise.all(stack.auth.map((app) => app.stop('SIGKILL')))),
    end: async ({ stack }) => void (await Promise.all(stack.auth.map((app) => app.start()))),
  },
]

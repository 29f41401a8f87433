import type { RouteLimits } from '@plainpath/http'
import { expect, test } from 'vitest'
import { LIMITS } from './limits.ts'

test.for(Object.entries<RouteLimits>(LIMITS).filter(([, limits]) => limits.client))(
  '%s: a client with a verified domain has three times the limit, and all clients of a registrable domain share a limit',
  ([, { client, verified, domain }]) => {
    expect(client).toMatchObject([{ name: 'reads-client', quota: 600, windowSeconds: 60 }])
    expect(verified).toMatchObject([{ name: 'reads-verified', quota: 1800, windowSeconds: 60 }])
    expect(domain).toMatchObject([
      { name: 'reads-domain', quota: LIMITS.reads.address[0].quota, windowSeconds: 60 },
    ])
  },
)

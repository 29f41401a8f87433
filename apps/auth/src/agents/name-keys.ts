import { type AgentKey, agentKey, err, ok, type Result, type SentJwks } from '@plainpath/domain'
import { calculateJwkThumbprint } from 'jose'
import type { z } from 'zod'

/** Gives each key its name: the `kid` that was sent, or its thumbprint (RFC 7638). No two may have one name. */
export async function nameKeys({
  keys,
}: z.infer<typeof SentJwks>): Promise<Result<readonly AgentKey[], 'same-kid'>> {
  const named = await Promise.all(keys.map(async (key) => agentKey(key, key.kid ?? (await thumbprint(key)))))
  return new Set(named.map(({ kid }) => kid)).size === named.length ? ok(named) : err('same-kid')
}

const thumbprint = ({ kty, crv, x, y }: z.infer<typeof SentJwks>['keys'][number]) =>
  calculateJwkThumbprint({ kty, crv, x, ...(y && { y }) })

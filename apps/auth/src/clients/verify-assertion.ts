import { generateKeyPairSync } from 'node:crypto'
import { type AgentId, AgentKey } from '@plainpath/domain'
import { compactVerify, errors } from 'jose'
import type { AssertionStore } from './assertion-store.ts'
import { type ClientAssertion, judgeClaims, keyFor } from './client-assertion.ts'

export interface VerifyAssertionDeps {
  issuer: string
  assertions: AssertionStore
  now: () => Date
}

/** @param client undefined for one that may not come in, which is the same work */
export type VerifyAssertion = (
  assertion: ClientAssertion,
  client: { readonly id: AgentId; readonly keys: readonly AgentKey[] } | undefined,
) => Promise<boolean>

/** Signature first, then what it says, then that it was never used; so nobody else can use up a client's assertion. */
export function verifyAssertion({ issuer, assertions, now }: VerifyAssertionDeps): VerifyAssertion {
  const nobody = nobodysKeys()
  return async (assertion, client) => {
    const key = client && keyFor(client.keys, assertion.header)
    const isSigned = await verifies(assertion, key ?? nobody[assertion.header.alg])
    if (!client || !key || !isSigned || assertion.claims.sub !== client.id) return false
    const judged = judgeClaims(assertion, { issuer, now: now() })
    if (!judged.ok) return false
    const { jti } = assertion.claims
    return assertions.spend({ clientId: client.id, jti, key, expiresAt: judged.value })
  }
}

async function verifies({ text, header }: ClientAssertion, { kty, crv, x, y }: AgentKey): Promise<boolean> {
  try {
    await compactVerify(text, { kty, crv, x, ...(y && { y }) }, { algorithms: [header.alg] })
    return true
  } catch (error) {
    if (error instanceof errors.JOSEError) return false
    throw error
  }
}

/** Keys whose private half nobody has: an unknown client costs as much as a wrong signature. */
function nobodysKeys() {
  const members = { kid: 'nobody', use: 'sig' }
  const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' })
  const okp = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' })
  const ofEd25519 = AgentKey.parse({ ...okp, ...members, alg: 'EdDSA' })
  return { ES256: AgentKey.parse({ ...ec, ...members, alg: 'ES256' }), EdDSA: ofEd25519, Ed25519: ofEd25519 }
}

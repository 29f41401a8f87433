import { checkChain, statesByAudit } from './key-audit.ts'
import type { KeyOperations } from './key-operations.ts'
import { signProof, verifyProof } from './key-proof.ts'
import { isLive, signingKey } from './key-ring.ts'
import { UnreadableKey } from './key-store.ts'

export interface Verification {
  readonly keys: number
  readonly instances: number
  /** Of the audit. */
  readonly head: string | undefined
  /** What is wrong, in sentences. Empty when nothing is. */
  readonly findings: readonly string[]
}

/**
 * Opens every key, signs with each that can and verifies it, holds their states against the audit, and checks a
 * signature of each live instance.
 */
export async function verifyKeys(operations: KeyOperations): Promise<Verification> {
  const inspected = await operations.inspect()
  const view = await operations.view()
  const findings: string[] = []
  for (const key of inspected) {
    if (key instanceof UnreadableKey)
      findings.push(`Key ${key.kid} cannot be opened, or its row was changed.`)
    else if (key.privateJwk) {
      const claims = { instanceId: 'verify', ringVersion: view.ring.version }
      if (!(await verifyProof(await signProof(key.privateJwk, claims), key.publicJwk, claims)))
        findings.push(`Key ${key.kid} does not verify what it signs.`)
    }
  }
  const chain = checkChain(await operations.audit())
  if (!chain.ok) findings.push(chain.error)
  else {
    const written = statesByAudit(chain.value.entries)
    for (const { kid, state } of view.ring.keys) {
      const said = written.get(kid)
      if (said !== state) findings.push(`Key ${kid} is ${state}; by the audit it is ${said ?? 'unknown'}.`)
    }
    const known = new Set(view.ring.keys.map(({ kid }) => kid))
    for (const kid of written.keys()) if (!known.has(kid)) findings.push(`Key ${kid} is gone.`)
  }
  const signing = signingKey(view.ring)
  if (!signing) findings.push('No key signs.')
  const live = view.followers.filter((each) => isLive(each, operations.circumstances(view)))
  for (const each of live) {
    if (each.problem) findings.push(`Instance ${each.host}: ${each.problem}.`)
    else if (!signing || each.signingKid !== signing.kid || each.ringVersion !== view.ring.version)
      findings.push(
        `Instance ${each.host} signs with ${each.signingKid ?? 'nothing'}, by ring ${each.ringVersion}.`,
      )
    else if (!(await verifyProof(each.proof ?? '', signing.publicJwk, each)))
      findings.push(`Instance ${each.host} signs what its key does not verify.`)
  }
  return {
    keys: inspected.length,
    instances: live.length,
    head: chain.ok ? chain.value.head : undefined,
    findings,
  }
}

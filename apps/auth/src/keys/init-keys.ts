import { hostname, userInfo } from 'node:os'
import { err, ok } from '@plainpath/domain'
import type { Actor } from '../audit-chain.ts'
import { first } from './key-ring.ts'
import type { KeyStore } from './key-store.ts'
import { generateKeyPair } from './signing-key.ts'

/** Whoever runs this process. */
export const thisActor = (): Actor => ({ user: userName(), host: hostname() })

/** In a container the user may have no name. */
function userName(): string {
  try {
    return userInfo().username
  } catch {
    return `user ${process.getuid?.() ?? 'unknown'}`
  }
}

/**
 * Makes the first signing key, unless there is one; of any number of callers at once exactly one makes it. Keys that
 * are older than the audit are written down in it.
 *
 * @returns its kid, or undefined when nothing was to be done
 */
export async function initKeys(deps: { keys: KeyStore }): Promise<string | undefined> {
  const added = generateKeyPair('ES256')
  const done = await deps.keys.update(thisActor(), ({ ring }) => {
    if (ring.version === 1 && ring.keys.length > 0)
      return ok({
        step: 'adopt',
        transitions: ring.keys.map(({ kid, state }) => ({ kid, from: undefined, to: state })),
      })
    const step = first(ring, added.kid)
    return step.ok ? ok({ step: 'init', transitions: step.value, added }) : err(step.error)
  })
  return done.ok && done.value.change.step === 'init' ? added.kid : undefined
}

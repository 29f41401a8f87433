import { randomBytes, randomUUID } from 'node:crypto'
import { type AgentId, err, ok, type Result } from '@plainpath/domain'
import type { HashKey } from '@plainpath/sealing'
import { LIFE } from './agent-life.ts'
import type { AddSecretRefusal, AgentSecretStore, EndedSecret } from './agent-secret-store.ts'
import type { AgentSecret } from './agent-store.ts'

/**
 * A secret, and what is kept of it. It is `pps_` and 256 random bits as 43 base64url characters, past the 2^-160 guessing
 * bound of RFC 6749 §10.10. A slow hash would add nothing: nobody can try 2^256 values, however fast each try is.
 */
export function newSecret(hashKey: HashKey, now: Date): { secret: string; kept: AgentSecret } {
  const secret = `pps_${randomBytes(32).toString('base64url')}`
  const digest = hashKey.hash('client-secret', secret)
  return { secret, kept: { id: randomUUID(), digest, keyId: hashKey.id, createdAt: now, endsAt: undefined } }
}

interface AddedSecret {
  /** Told this once. */
  readonly secret: string
  readonly added: AgentSecret
  /** All that are accepted. */
  readonly secrets: readonly AgentSecret[]
}
export type AddSecret = (id: AgentId) => Promise<Result<AddedSecret, AddSecretRefusal>>

/** Gives an agent a second secret; the first ends seven days later. */
export const addSecret =
  (deps: {
    secrets: Pick<AgentSecretStore, 'addSecret'>
    hashKey: HashKey
    forget: (id: AgentId) => void
    now: () => Date
  }): AddSecret =>
  async (id) => {
    const now = deps.now()
    const { secret, kept } = newSecret(deps.hashKey, now)
    try {
      const added = await deps.secrets.addSecret(id, kept, new Date(now.getTime() + LIFE.oldSecretMs))
      return added.ok ? ok({ secret, added: kept, secrets: added.value }) : err(added.error)
    } finally {
      deps.forget(id)
    }
  }

export type EndSecret = (id: AgentId, secretId: string) => Promise<EndedSecret['outcome']>

/**
 * Ends a secret, and every token of its agent with it: when it returns, the secret opens nothing, at any instance. What
 * an instance issues for it that has not heard is dead; the steps and their reasons are those of `endAgent`. Of a secret
 * that is gone already all are told again, since that may be what failed the first time.
 */
export const endSecret =
  (deps: {
    secrets: Pick<AgentSecretStore, 'endSecret'>
    raiseGeneration: (id: AgentId, generation: number) => Promise<void>
    announceEnd: (id: AgentId) => Promise<void>
    forget: (id: AgentId) => void
    now: () => Date
  }): EndSecret =>
  async (id, secretId) => {
    try {
      const ended = await deps.secrets.endSecret(id, secretId, deps.now(), (raised) =>
        deps.raiseGeneration(id, raised),
      )
      if ('generation' in ended) {
        await deps.raiseGeneration(id, ended.generation)
        deps.forget(id)
        await deps.announceEnd(id)
      }
      return ended.outcome
    } finally {
      deps.forget(id)
    }
  }

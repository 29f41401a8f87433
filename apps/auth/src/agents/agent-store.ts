/*
 * The interface of the agent store: agents with their secrets and keys. `postgres-agent-store.ts` implements it. The use
 * cases (`deactivate-agent.ts`, `rotate-secret.ts`, `replace-keys.ts`) revoke tokens and publish revocations to the APIs.
 *
 * Each token records the credential version of its agent (column `generation`). If the version of the agent rises, its earlier
 * tokens are revoked.
 */
import type { Agent, AgentId, AgentKey, Result } from '@plainpath/domain'
import type { AuthenticatedAgent, ChangedAgent } from '../clients/credential-version.ts'
import type { VerifiedKeyProof } from '../clients/key-proof.ts'
import type { AgentSecret } from './agent-secret.ts'

export interface AgentRecord {
  readonly agent: Agent
  /** Empty for a deleted agent, for one that has keys, and for a connection. */
  readonly secrets: readonly AgentSecret[]
}

/** Returns the credential version that the agent's tokens must have; undefined for an agent that is unknown or not active. */
export const getActiveCredentialVersion = (record: AgentRecord | undefined): number | undefined =>
  record?.agent.status === 'active' ? record.agent.credentialVersion : undefined

/**
 * Why a secret was not added. `inactive`: there is no such agent, it is disabled or deleted, or one of its credentials was
 * removed after the request was authenticated. `too-many`: the agent has two accepted secrets.
 */
export type AddSecretRefusal = 'inactive' | 'has-keys' | 'too-many'

/**
 * The outcome of removing a secret. `unknown`: the agent does not have this secret. `last`: it has no other secret, so
 * nothing was removed. `inactive`: as in `AddSecretRefusal`.
 */
export type SecretRemoval =
  | { readonly outcome: 'removed' | 'unknown'; readonly credentialVersion: number }
  | { readonly outcome: 'last' | 'inactive' }

/**
 * Why keys were not replaced. `inactive`: as in `AddSecretRefusal`. `proof-missing`: the request has proofs, but not for each new
 * key.
 */
export type ReplaceKeysFault = 'inactive' | 'proof-missing' | 'proof-used'

export interface ReplacedKeys {
  readonly agent: Agent
  /** The `kid` of each new key without a proof. */
  readonly unproven: readonly string[]
}

/** A callback that revokes tokens. It receives the new credential version before the commit. If it throws, nothing changes. */
type BeforeCommit = (credentialVersion: number) => Promise<void>

/**
 * Stores agents. Each method except `reencryptNames` is atomic. Every instance is notified of changes (channel
 * `agents_changed`), except those by `add` and `markUsed`. A method that revokes something commits synchronously, whatever
 * the server's default.
 */
export interface AgentStore {
  /** Stores an agent with its first secret or its keys. */
  add(record: AgentRecord): Promise<void>
  /** Returns an agent in any status, or undefined if there is none. */
  find(id: AgentId): Promise<AgentRecord | undefined>
  /**
   * Lists agents, newest first.
   *
   * @param limit 1 to 1000
   */
  list(limit: number): Promise<readonly Agent[]>
  /**
   * Disables or deletes an agent, and raises its credential version, even if the agent was disabled before. A deletion
   * also erases its name, secrets and keys, revokes its e-mail verifications, and queues a mail to each person who
   * confirmed the agent.
   *
   * @param reason an operator's reason, which `agents show` prints. Without one, a disabled agent keeps an earlier reason
   * @returns the new credential version; undefined if there is no such agent, or it was deleted before, or it requested this
   *   and one of its credentials was removed since then
   */
  deactivate(
    agent: ChangedAgent,
    status: 'disabled' | 'deleted',
    beforeCommit: BeforeCommit,
    reason?: string,
  ): Promise<number | undefined>
  /**
   * Enables a disabled agent. This counts as a use, so the agent does not expire immediately.
   *
   * @returns false if the agent was not disabled, or its domain is blocked
   */
  enable(id: AgentId, now: Date): Promise<boolean>
  /**
   * Records the use of an agent durably.
   *
   * @returns false if the agent is not active
   */
  markUsed(id: AgentId, now: Date): Promise<boolean>
  /**
   * Replaces the keys of an active agent, removes its secrets and marks the proofs as used. Raises the credential
   * version, and so revokes all tokens, if a key or the secret is removed: a token does not record which credential it
   * was issued for.
   */
  replaceKeys(
    agent: AuthenticatedAgent,
    change: { keys: readonly AgentKey[]; proofs: readonly VerifiedKeyProof[] },
    beforeCommit: BeforeCommit,
  ): Promise<Result<ReplacedKeys, ReplaceKeysFault>>
  /**
   * Adds a secret. The older secret expires at `olderSecretEndsAt`, unless it already has an expiry.
   *
   * @returns all secrets that are accepted now
   */
  addSecret(
    agent: AuthenticatedAgent,
    secret: AgentSecret,
    olderSecretEndsAt: Date,
  ): Promise<Result<readonly AgentSecret[], AddSecretRefusal>>
  /**
   * Removes a secret, unless it is the last one. The other secret no longer expires. Raises the credential version, and
   * so revokes all tokens, because a token does not record which secret it was issued for.
   */
  removeSecret(
    agent: ChangedAgent,
    secretId: string,
    now: Date,
    beforeCommit: BeforeCommit,
  ): Promise<SecretRemoval>
  /**
   * Re-encrypts names under the newest key-encryption key. A dry run only counts them.
   *
   * @returns the number of names that were under an older key
   * @throws {UnsealError}
   */
  reencryptNames(options: { dryRun: boolean }): Promise<number>
}

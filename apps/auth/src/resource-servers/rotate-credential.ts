/*
 * The rules for rotating the secret of a resource server, as pure functions: when a second secret may be added, and when
 * one may be removed. `credential-operations.ts` reads, writes and waits.
 */
import { err, ok, type Result } from '@plainpath/domain'
import type { ResourceServerFollower, SecretHistory } from './resource-server-followers.ts'
import { fingerprint, type ResourceServer } from './resource-servers.ts'

/** The facts that decide whether a step is allowed. */
export interface CredentialView {
  readonly servers: readonly ResourceServer[]
  readonly followers: readonly ResourceServerFollower[]
  readonly secrets: readonly SecretHistory[]
  /** An instance that has not reported for this long serves no introspection any more. */
  readonly leaseMs: number
}

type Refusable<T> = Result<T, string>

/** Adds a secret to `clientId`, newest last. @returns the changed servers, or why it is refused */
export function withSecret(
  servers: readonly ResourceServer[],
  clientId: string,
  digest: string,
): Refusable<readonly ResourceServer[]> {
  const server = servers.find((each) => each.client_id === clientId)
  if (!server) return err(`There is no resource server ${clientId} in the file.`)
  if (server.secrets.length > 1)
    return err(`${clientId} has two secrets already. Remove one: resource-servers finish ${clientId}`)
  return ok(replaced(servers, { ...server, secrets: [...server.secrets, digest] }))
}

/**
 * Checks that a copy differs from the served file by at most one secret of `clientId`, more or less. Any other difference
 * was made in only one of the two files, and installing the copy would undo it.
 */
export function isAtMostOneStepOn(
  { served, copy }: { served: readonly ResourceServer[]; copy: readonly ResourceServer[] },
  clientId: string,
): boolean {
  const others = (servers: readonly ResourceServer[]) =>
    JSON.stringify(servers.map((each) => (each.client_id === clientId ? { ...each, secrets: [] } : each)))
  const [before, after] = [secretsIn(served, clientId), secretsIn(copy, clientId)]
  const [fewer, more] = before.length < after.length ? [before, after] : [after, before]
  return (
    others(served) === others(copy) &&
    more.length - fewer.length <= 1 &&
    fewer.every((digest) => more.includes(digest))
  )
}

/** Finds the live instances that do not accept a secret of the file, or accept one that is not in it. */
export function behind(view: CredentialView, clientId: string): readonly ResourceServerFollower[] {
  const fingerprintsInFile = fingerprintsIn(view.servers, clientId)
  return liveFollowers(view).filter((each) => {
    const accepted = each.secrets
      .filter((secret) => secret.clientId === clientId)
      .map((secret) => secret.fingerprint)
    return (
      accepted.length !== fingerprintsInFile.length ||
      fingerprintsInFile.some((print) => !accepted.includes(print))
    )
  })
}

export const liveFollowers = ({ followers, leaseMs }: CredentialView) =>
  followers.filter(({ seenMsAgo }) => seenMsAgo < leaseMs)

/**
 * Removes one of the two secrets of `clientId`: the older, or the newer to cancel a rotation. Allowed when every live
 * instance has known both for a lease, the remaining secret is in use, and the removed one has not been presented for a
 * lease. Instances report uses with a delay, hence the lease.
 *
 * @param options.evenIfUsed allows a secret that is in use to be removed: after a leak, a thief may keep using it
 * @returns the changed servers, or why it is refused
 */
export function withoutSecret(
  view: CredentialView,
  clientId: string,
  { which, evenIfUsed = false }: { which: 'older' | 'newer'; evenIfUsed?: boolean },
): Refusable<readonly ResourceServer[]> {
  const server = view.servers.find((each) => each.client_id === clientId)
  if (!server) return err(`There is no resource server ${clientId} in the file.`)
  const [older, newer] = server.secrets
  if (older === undefined || newer === undefined)
    return err(`${clientId} has only one secret, so there is none to remove.`)
  const [goes, stays] = which === 'older' ? [older, newer] : [newer, older]
  const late = behind(view, clientId)
  if (late.length > 0)
    return err(`Not every instance has loaded the file yet: ${late.map(({ host }) => host).join(', ')}.`)
  const knownMs = findHistory(view, clientId, newer)?.firstSeenMsAgo ?? 0
  if (knownMs < view.leaseMs)
    return err(
      `The secret ${fingerprint(newer)} has been known for ${seconds(knownMs)} s. It must be for ${seconds(view.leaseMs)} s.`,
    )
  const idle = usedMsAgo(view, clientId, goes)
  if (!evenIfUsed && idle !== undefined && idle < view.leaseMs)
    return err(
      `The secret ${fingerprint(goes)} was used ${seconds(idle)} s ago. It can be removed when it has not been used for ${seconds(view.leaseMs)} s. After a leak: --even-if-used`,
    )
  if (usedMsAgo(view, clientId, stays) === undefined)
    return err(`Nobody has used the secret ${fingerprint(stays)} yet, and it would be the only one.`)
  return ok(replaced(view.servers, { ...server, secrets: [stays] }))
}

/** Finds the history of a secret. @returns undefined when no instance has ever accepted it */
export const findHistory = ({ secrets }: CredentialView, clientId: string, digest: string) =>
  secrets.find((each) => each.clientId === clientId && each.fingerprint === fingerprint(digest))

const usedMsAgo = (view: CredentialView, clientId: string, digest: string) =>
  findHistory(view, clientId, digest)?.usedMsAgo

const seconds = (ms: number) => Math.round(ms / 100) / 10

/** Returns the digests of a resource server's secrets, oldest first; empty for an unknown server. */
export const secretsIn = (servers: readonly ResourceServer[], clientId: string): readonly string[] =>
  servers.find((each) => each.client_id === clientId)?.secrets ?? []

const fingerprintsIn = (servers: readonly ResourceServer[], clientId: string) =>
  secretsIn(servers, clientId).map(fingerprint)

const replaced = (servers: readonly ResourceServer[], server: ResourceServer) =>
  servers.map((each) => (each.client_id === server.client_id ? server : each))

/*
 * The rules for rotating the secret of a resource server, as pure functions: when a second secret may be added, and when
 * one may be removed. `credential-operations.ts` reads, writes and waits.
 */
import { err, ok, type Result } from '@plainpath/domain'
import type { ResourceServerFollower, SecretHistory } from './resource-server-follower-store.ts'
import { type ResourceServer, toFingerprint } from './resource-servers.ts'

/** The facts that decide whether a step is allowed. */
export interface CredentialView {
  readonly servers: readonly ResourceServer[]
  readonly followers: readonly ResourceServerFollower[]
  readonly secrets: readonly SecretHistory[]
  /** An instance that has not reported for this time counts as stopped. */
  readonly leaseMs: number
}

/** The result of a step. The error is a sentence for the operator. */
type StepResult<T> = Result<T, string>

/**
 * Adds a secret to `clientId`, after its older secret.
 *
 * @returns the changed servers, or the reason for a refusal
 */
export function addSecret(
  servers: readonly ResourceServer[],
  clientId: string,
  digest: string,
): StepResult<readonly ResourceServer[]> {
  const server = servers.find(({ client_id }) => client_id === clientId)
  if (!server) return err(`There is no resource server ${clientId} in the file.`)
  if (server.secrets.length > 1)
    return err(
      `${clientId} already has two secrets. Remove one with: auth resource-servers finish ${clientId}`,
    )
  return ok(replaceServer(servers, { ...server, secrets: [...server.secrets, digest] }))
}

/**
 * Returns whether a copy equals the served file, except for at most one added or removed secret of `clientId`. If the file was
 * changed in other ways, installing the copy would undo those changes.
 */
export function differsByAtMostOneSecret(
  { served, copy }: { served: readonly ResourceServer[]; copy: readonly ResourceServer[] },
  clientId: string,
): boolean {
  const withoutSecrets = (servers: readonly ResourceServer[]) =>
    JSON.stringify(
      servers.map((server) => (server.client_id === clientId ? { ...server, secrets: [] } : server)),
    )
  const servedSecrets = listSecrets(served, clientId)
  const copiedSecrets = listSecrets(copy, clientId)
  const [fewerSecrets, moreSecrets] =
    servedSecrets.length < copiedSecrets.length
      ? [servedSecrets, copiedSecrets]
      : [copiedSecrets, servedSecrets]
  return (
    withoutSecrets(served) === withoutSecrets(copy) &&
    moreSecrets.length - fewerSecrets.length <= 1 &&
    fewerSecrets.every((digest) => moreSecrets.includes(digest))
  )
}

/** Finds the live instances whose accepted secrets for `clientId` differ from those in the file. */
export function findLateInstances(view: CredentialView, clientId: string): readonly ResourceServerFollower[] {
  const fingerprintsInFile = listFingerprints(view.servers, clientId)
  return findLiveInstances(view).filter((follower) => {
    const acceptedFingerprints = follower.secrets
      .filter((secret) => secret.clientId === clientId)
      .map((secret) => secret.fingerprint)
    return (
      acceptedFingerprints.length !== fingerprintsInFile.length ||
      fingerprintsInFile.some((fingerprint) => !acceptedFingerprints.includes(fingerprint))
    )
  })
}

export const findLiveInstances = ({ followers, leaseMs }: CredentialView) =>
  followers.filter(({ seenMsAgo }) => seenMsAgo < leaseMs)

/**
 * Removes one of the two secrets of `clientId`: the older, or the newer one to cancel a rotation. This is allowed if every live
 * instance accepts exactly these two, the newer one was first accepted at least a lease ago, the remaining secret has been
 * used, and the older secret has not been presented for a lease, or the newer one never. The lease is needed because instances
 * report uses with a delay. Once the newer secret was used, the API has no other: `rotate` has replaced the older one in its file.
 *
 * @param options.evenIfUsed true to remove a secret that is in use, because a thief may keep using it after a leak
 * @returns the changed servers, or the reason for a refusal
 */
export function removeSecret(
  view: CredentialView,
  clientId: string,
  { which, evenIfUsed = false }: { which: 'older' | 'newer'; evenIfUsed?: boolean },
): StepResult<readonly ResourceServer[]> {
  const server = view.servers.find(({ client_id }) => client_id === clientId)
  if (!server) return err(`There is no resource server ${clientId} in the file.`)
  const [older, newer] = server.secrets
  if (older === undefined || newer === undefined)
    return err(`${clientId} has only one secret, so there is none to remove.`)
  const [removedDigest, remainingDigest] = which === 'older' ? [older, newer] : [newer, older]
  const lateInstances = findLateInstances(view, clientId)
  if (lateInstances.length > 0)
    return err(
      `Not every instance has loaded the file yet: ${lateInstances.map(({ host }) => host).join(', ')}.`,
    )
  // A secret that no instance has reported has been known for no time.
  const knownMs = findHistory(view, clientId, newer)?.firstSeenMsAgo ?? 0
  if (knownMs < view.leaseMs)
    return err(
      `The secret ${toFingerprint(newer)} has been known for ${toSeconds(knownMs)} s. It must have been known for ${toSeconds(view.leaseMs)} s. Wait, then run the same command again.`,
    )
  const removedUseMsAgo = findLastUse(view, clientId, removedDigest)
  if (which === 'newer' && removedUseMsAgo !== undefined)
    return err(
      `The API uses the secret ${toFingerprint(newer)}, so the rotation cannot be called off. Finish it with: auth resource-servers finish ${clientId}`,
    )
  if (!evenIfUsed && removedUseMsAgo !== undefined && removedUseMsAgo < view.leaseMs)
    return err(
      `The secret ${toFingerprint(removedDigest)} was used ${toSeconds(removedUseMsAgo)} s ago. It can be removed when it has not been used for ${toSeconds(view.leaseMs)} s. To remove it now, for example after a leak, add --even-if-used.`,
    )
  if (findLastUse(view, clientId, remainingDigest) === undefined)
    return err(
      `Nobody has used the secret ${toFingerprint(remainingDigest)} yet, and it would be the only one. Send one request with a token that this API has not seen, then run the command again.`,
    )
  return ok(replaceServer(view.servers, { ...server, secrets: [remainingDigest] }))
}

/**
 * Finds the history of a secret.
 *
 * @returns undefined if no instance has ever accepted it
 */
export const findHistory = ({ secrets }: CredentialView, clientId: string, digest: string) =>
  secrets.find((secret) => secret.clientId === clientId && secret.fingerprint === toFingerprint(digest))

const findLastUse = (view: CredentialView, clientId: string, digest: string) =>
  findHistory(view, clientId, digest)?.usedMsAgo

const toSeconds = (ms: number) => Math.round(ms / 100) / 10

/** Returns the digests of a resource server's secrets, oldest first; empty for an unknown server. */
export const listSecrets = (servers: readonly ResourceServer[], clientId: string): readonly string[] =>
  servers.find(({ client_id }) => client_id === clientId)?.secrets ?? []

const listFingerprints = (servers: readonly ResourceServer[], clientId: string) =>
  listSecrets(servers, clientId).map(toFingerprint)

const replaceServer = (servers: readonly ResourceServer[], newServer: ResourceServer) =>
  servers.map((server) => (server.client_id === newServer.client_id ? newServer : server))

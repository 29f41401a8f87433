import { err, ok, type Result } from '@plainpath/domain'
import type { ResourceServerFollower, SecretHistory } from './resource-server-followers.ts'
import { fingerprint, type ResourceServer } from './resource-servers.ts'

/** What a step is judged by. */
export interface CredentialView {
  readonly servers: readonly ResourceServer[]
  readonly followers: readonly ResourceServerFollower[]
  readonly secrets: readonly SecretHistory[]
  /** An instance not heard of for so long answers no introspection any more. */
  readonly leaseMs: number
}

type Refusable<T> = Result<T, string>

/** The servers with one more secret for `clientId`, newest last. */
export function withSecret(
  servers: readonly ResourceServer[],
  clientId: string,
  digest: string,
): Refusable<readonly ResourceServer[]> {
  const server = servers.find((each) => each.client_id === clientId)
  if (!server) return err(`There is no resource server ${clientId} in the file.`)
  if (server.secrets.length > 1)
    return err(`Two secrets of ${clientId} live already. Take one away: resource-servers finish ${clientId}`)
  return ok(replaced(servers, { ...server, secrets: [...server.secrets, digest] }))
}

/**
 * Whether a copy is what is served, or a step further: one secret of `clientId` more, or one less. Anything else was changed in
 * one place and not in the other, and to put the copy in place would undo that.
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

/** Live instances that do not accept a secret of the file, or accept one that is not in it. */
export function behind(view: CredentialView, clientId: string): readonly ResourceServerFollower[] {
  const wanted = printsOf(view.servers, clientId)
  return liveFollowers(view).filter((each) => {
    const accepted = each.secrets
      .filter((secret) => secret.clientId === clientId)
      .map((secret) => secret.fingerprint)
    return accepted.length !== wanted.length || wanted.some((print) => !accepted.includes(print))
  })
}

export const liveFollowers = ({ followers, leaseMs }: CredentialView) =>
  followers.filter(({ seenMsAgo }) => seenMsAgo < leaseMs)

/**
 * The servers without one of the two secrets of `clientId`: the older, or the newer to call a rotation off. It may go
 * when every live instance has known both for a lease, the one that stays is in use, and the one that goes was not shown
 * for a lease. Uses are told a moment later, so a secret is judged only when its use would have been told.
 *
 * @param options.evenIfUsed the one that goes may be in use: after a leak, its thief keeps it so
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
    return err(`One secret of ${clientId} lives. There is nothing to take away.`)
  const [goes, stays] = which === 'older' ? [older, newer] : [newer, older]
  const late = behind(view, clientId)
  if (late.length > 0)
    return err(`Not every instance follows the file yet: ${late.map(({ host }) => host).join(', ')}.`)
  const known = historyOf(view, clientId, newer)?.firstSeenMsAgo ?? 0
  if (known < view.leaseMs)
    return err(
      `The secret ${fingerprint(newer)} has been known for ${seconds(known)} s. It must be for ${seconds(view.leaseMs)} s.`,
    )
  const idle = usedMsAgo(view, clientId, goes)
  if (!evenIfUsed && idle !== undefined && idle < view.leaseMs)
    return err(
      `The secret ${fingerprint(goes)} was used ${seconds(idle)} s ago. It may go when it was not used for ${seconds(view.leaseMs)} s. After a leak: --even-if-used`,
    )
  if (usedMsAgo(view, clientId, stays) === undefined)
    return err(`Nobody has used the secret ${fingerprint(stays)} yet, which would be the only one.`)
  return ok(replaced(view.servers, { ...server, secrets: [stays] }))
}

/** What is known of a secret; undefined when no instance has ever accepted it. */
export const historyOf = ({ secrets }: CredentialView, clientId: string, digest: string) =>
  secrets.find((each) => each.clientId === clientId && each.fingerprint === fingerprint(digest))

const usedMsAgo = (view: CredentialView, clientId: string, digest: string) =>
  historyOf(view, clientId, digest)?.usedMsAgo

const seconds = (ms: number) => Math.round(ms / 100) / 10

/** The digests of a resource server's secrets, oldest first; none where it is not there. */
export const secretsIn = (servers: readonly ResourceServer[], clientId: string): readonly string[] =>
  servers.find((each) => each.client_id === clientId)?.secrets ?? []

const printsOf = (servers: readonly ResourceServer[], clientId: string) =>
  secretsIn(servers, clientId).map(fingerprint)

const replaced = (servers: readonly ResourceServer[], server: ResourceServer) =>
  servers.map((each) => (each.client_id === server.client_id ? server : each))

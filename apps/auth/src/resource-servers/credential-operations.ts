import { readFile, rename, rm, stat } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { err, ok, type Result } from '@plainpath/domain'
import { createResourceServer } from './create-resource-server.ts'
import type { ResourceServerFollowers } from './resource-server-followers.ts'
import { fingerprint, type ResourceServer, secretDigest } from './resource-servers.ts'
import { readResourceServers, replaceFile, writeDurably } from './resource-servers-file.ts'
import { behind, type CredentialView, liveFollowers, withoutSecret, withSecret } from './rotate-credential.ts'

export interface CredentialOperationsDeps {
  /** AUTH_RESOURCE_SERVERS_FILE. */
  readonly served: string
  /** The one that is changed: `served`, or a copy of it that begins where there is none. */
  readonly file: string
  readonly followers: Pick<ResourceServerFollowers, 'view'>
  readonly leaseMs: number
  /** Told once the file has one more secret of a resource server, or one less. */
  readonly onWritten: (done: 'added' | 'ended', clientId: string, fingerprint: string) => void
}

export interface Rotated {
  readonly fingerprint: string
  /** Instances that accept both secrets. */
  readonly instances: readonly string[]
  /** Whether an earlier call, which did not come to its end, had begun it. */
  readonly resumed: boolean
}

const ASK_MS = 100
/** An instance reads its file every second; more than that, and a lease for one that stopped. */
const SLACK_MS = 10_000

/** Changing the secret of a resource server in two steps, between which both secrets are good. */
export function credentialOperations(deps: CredentialOperationsDeps) {
  const { served, file, followers, leaseMs, onWritten } = deps
  const read = async () => readResourceServers((await exists(file)) ? file : served)
  const view = async (): Promise<CredentialView> => ({
    servers: await read(),
    ...(await followers.view()),
    leaseMs,
  })
  const putInPlace = file === served ? '' : `Put ${file} in place of ${served}. `
  const write = (servers: readonly ResourceServer[]) =>
    replaceFile(file, `${JSON.stringify(servers, null, 2)}\n`)

  /** Waits until every live instance accepts what the file says. @returns those that do not, in the end */
  async function followed(clientId: string): Promise<{ live: string[]; late: string[] }> {
    const deadline = performance.now() + leaseMs + SLACK_MS
    for (;;) {
      const now = await view()
      const late = behind(now, clientId).map(({ host }) => host)
      if (late.length === 0 || performance.now() > deadline)
        return { live: liveFollowers(now).map(({ host }) => host), late }
      await sleep(ASK_MS)
    }
  }

  return {
    view,
    /**
     * Adds a second secret, waits until every instance accepts it, and only then puts it where the API reads it: so no
     * API ever shows a secret that an instance does not know. Until then the secret lies in `<secretFile>.next`; a call
     * that was killed goes on from there.
     */
    async rotate(
      clientId: string,
      { secretFile, replace, trial }: { secretFile: string; replace: boolean; trial: boolean },
    ): Promise<Result<Rotated, string>> {
      const next = `${secretFile}.next`
      const servers = await read()
      const begun = await readIfThere(next)
      const known = servers.find((each) => each.client_id === clientId)?.secrets ?? []
      const resumed = begun !== undefined && known.includes(secretDigest(begun))
      if (!replace && (await exists(secretFile)))
        return err(`${secretFile} is there already. To replace it: --replace`)
      const secret = resumed ? begun : createResourceServer(clientId, 'https://none.example').secret
      const changed = resumed ? ok(servers) : withSecret(servers, clientId, secretDigest(secret))
      if (!changed.ok) return changed
      const print = fingerprint(secretDigest(secret))
      if (trial)
        return ok({
          fingerprint: print,
          instances: liveFollowers(await view()).map(({ host }) => host),
          resumed,
        })
      if (!resumed) {
        await rm(next, { force: true })
        await writeDurably(next, `${secret}\n`, secretFile)
        await write(changed.value)
        onWritten('added', clientId, print)
      }
      const { live, late } = await followed(clientId)
      if (late.length > 0)
        return err(
          `Not every instance accepts the new secret: ${late.join(', ')}. The API keeps the old one. ${putInPlace}Run the same command again.`,
        )
      await rename(next, secretFile)
      return ok({ fingerprint: print, instances: live, resumed })
    },
    /** Takes the older secret away; the newer one to call a rotation off. */
    async finish(
      clientId: string,
      { trial, ...how }: { which: 'older' | 'newer'; evenIfUsed: boolean; trial: boolean },
    ): Promise<Result<{ fingerprint: string; instances: readonly string[] }, string>> {
      const before = await view()
      const changed = withoutSecret(before, clientId, how)
      if (!changed.ok) return changed
      const [stays = ''] = changed.value.find((each) => each.client_id === clientId)?.secrets ?? []
      if (trial) return ok({ fingerprint: fingerprint(stays), instances: [] })
      await write(changed.value)
      const gone = before.servers
        .find((each) => each.client_id === clientId)
        ?.secrets.find((digest) => digest !== stays)
      onWritten('ended', clientId, fingerprint(gone ?? ''))
      const { live, late } = await followed(clientId)
      if (late.length > 0)
        return err(
          `The secret is out of the file, but may still be accepted by: ${late.join(', ')}. ${putInPlace}`.trim(),
        )
      return ok({ fingerprint: fingerprint(stays), instances: live })
    },
  }
}

export type CredentialOperations = ReturnType<typeof credentialOperations>

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return (await readFile(path, 'utf8')).trim()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

const exists = (path: string) =>
  stat(path).then(
    () => true,
    () => false,
  )

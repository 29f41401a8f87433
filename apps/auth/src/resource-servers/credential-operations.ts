import { readFile, rename, rm } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { err, ok, type Result } from '@plainpath/domain'
import type { ResourceServerFollowers } from './resource-server-followers.ts'
import { createResourceServer, fingerprint, type ResourceServer, secretDigest } from './resource-servers.ts'
import { exists, readResourceServers, replaceFile, writeDurably } from './resource-servers-file.ts'
import {
  behind,
  type CredentialView,
  isAtMostOneStepOn,
  liveFollowers,
  secretsIn,
  withoutSecret,
  withSecret,
} from './rotate-credential.ts'

interface CredentialOperationsDeps {
  /** AUTH_RESOURCE_SERVERS_FILE. */
  readonly served: string
  /** A copy of it that is changed instead, and begins where there is none. */
  readonly copy: string | undefined
  readonly followers: Pick<ResourceServerFollowers, 'view'>
  readonly leaseMs: number
  /** How long to wait until every live instance has loaded the file; `leaseMs` + 10 s when absent. */
  readonly timeoutMs?: number | undefined
  /** Told once the file has one more secret of a resource server, or one less. */
  readonly onWritten: (done: 'added' | 'ended', clientId: string, fingerprint: string) => void
}

const ASK_MS = 100
/** An instance reads its file every second; more than that, and a lease for one that stopped. */
const SLACK_MS = 10_000

/** Changing the secret of a resource server in two steps, between which both secrets are good. */
export function credentialOperations(deps: CredentialOperationsDeps) {
  const { followers, leaseMs, timeoutMs = leaseMs + SLACK_MS, onWritten } = deps
  const changed = changedServersFile(deps)
  const view = async (): Promise<CredentialView> => ({
    servers: await changed.read(),
    ...(await followers.view()),
    leaseMs,
  })

  /** Waits until every live instance accepts what the file says. @returns them, or why that is not so in the end */
  async function followed(clientId: string, problem: string): Promise<Result<string[], string>> {
    const deadline = performance.now() + timeoutMs
    for (;;) {
      const now = await view()
      const late = behind(now, clientId).map(({ host }) => host)
      if (late.length === 0 && (await changed.isServed()))
        return ok(liveFollowers(now).map(({ host }) => host))
      if (performance.now() > deadline)
        return err(late.length > 0 ? `${problem}: ${late.join(', ')}.` : 'What is served is the file before.')
      await sleep(ASK_MS)
    }
  }
  return {
    view,
    /**
     * Adds a second secret, waits until every instance accepts it, and only then puts it where the API reads it: so no
     * API ever shows a secret that an instance does not know. Until then the secret lies in `<secretFile>.next`; a call
     * that was killed goes on from there.
     *
     * @returns the instances that accept both secrets, and whether an earlier call, which did not come to its end, had begun it
     */
    async rotate(
      clientId: string,
      { secretFile, replace, trial }: { secretFile: string; replace: boolean; trial: boolean },
    ): Promise<Result<{ fingerprint: string; instances: readonly string[]; resumed: boolean }, string>> {
      const next = `${secretFile}.next`
      const stray = await changed.stray(clientId)
      if (stray !== undefined) return err(stray)
      const servers = await changed.read()
      const begun = await readIfThere(next)
      const resumed = begun !== undefined && secretsIn(servers, clientId).includes(secretDigest(begun))
      if (!replace && (await exists(secretFile)))
        return err(`${secretFile} is there already. To replace it: --replace`)
      const secret = resumed ? begun : createResourceServer(clientId, 'https://none.example').secret
      const more = resumed ? ok(servers) : withSecret(servers, clientId, secretDigest(secret))
      if (!more.ok) return more
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
        await changed.write(more.value)
        onWritten('added', clientId, print)
      }
      const follow = await followed(clientId, 'Not every instance accepts the new secret')
      if (!follow.ok) return err(`${follow.error} The API keeps the old one. ${changed.runAgain}`)
      await rename(next, secretFile)
      return ok({ fingerprint: print, instances: follow.value, resumed })
    },
    /**
     * Takes the older secret away; the newer one to call a rotation off. Where the other was taken away before, and not every
     * instance has followed, it goes on from there; also in a copy.
     */
    async finish(
      clientId: string,
      { trial, which, evenIfUsed }: { which: 'older' | 'newer'; evenIfUsed: boolean; trial: boolean },
    ): Promise<Result<{ fingerprint: string; instances: readonly string[] }, string>> {
      const stray = await changed.stray(clientId)
      if (stray !== undefined) return err(stray)
      const before = await view()
      const known = secretsIn(before.servers, clientId)
      const waits = behind(before, clientId).length > 0 || (await changed.isBegunCopy())
      const resumed = known.length === 1 && waits
      const fewer = resumed ? ok(before.servers) : withoutSecret(before, clientId, { which, evenIfUsed })
      if (!fewer.ok) return fewer
      const [stays = ''] = secretsIn(fewer.value, clientId)
      if (trial) return ok({ fingerprint: fingerprint(stays), instances: [] })
      if (!resumed) {
        await changed.write(fewer.value)
        onWritten('ended', clientId, fingerprint(known.find((digest) => digest !== stays) ?? ''))
      }
      const follow = await followed(clientId, 'The secret is out of the file, but may still be accepted by')
      if (!follow.ok) return err(`${follow.error} ${changed.runAgain}`)
      return ok({ fingerprint: fingerprint(stays), instances: follow.value })
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

/** The servers' file that commands change: the one that is served or, where that cannot be written, a copy of it. */
function changedServersFile({ served, copy }: { served: string; copy: string | undefined }) {
  const file = copy ?? served
  /** Of a copy that is not there yet, what it begins as. */
  const read = async () => readResourceServers((await exists(file)) ? file : served)
  return {
    read,
    write: (servers: readonly ResourceServer[]) => replaceFile(file, `${JSON.stringify(servers, null, 2)}\n`),
    /** Whether what is served is what this says. */
    isServed: async () =>
      copy === undefined ||
      JSON.stringify(await readResourceServers(served)) === JSON.stringify(await read()),
    /** Whether it is a copy that was written before. */
    isBegunCopy: async () => copy !== undefined && (await exists(copy)),
    /** @returns why a copy may not be gone on with: what is served was changed otherwise, and it would undo that */
    async stray(clientId: string): Promise<string | undefined> {
      if (copy === undefined) return undefined
      const [now, copied] = [await readResourceServers(served), await read()]
      if (isAtMostOneStepOn({ served: now, copy: copied }, clientId)) return undefined
      return `${copy} is a copy from before other changes of ${served}. Remove it, and begin anew.`
    },
    /** What whoever waits in vain has to do. */
    runAgain: `${copy === undefined ? '' : `Put ${copy} in place of ${served}. `}Run the same command again.`,
  }
}

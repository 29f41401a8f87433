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
  /** A copy of that file, which is changed instead and created when it does not exist. */
  readonly copy: string | undefined
  readonly followers: Pick<ResourceServerFollowers, 'view'>
  readonly leaseMs: number
  /** How long to wait until every live instance has loaded the file; `leaseMs` + 10 s when absent. */
  readonly timeoutMs?: number | undefined
  /** Called once the file has one more secret of a resource server, or one less. */
  readonly onWritten: (done: 'added' | 'ended', clientId: string, fingerprint: string) => void
}

const POLL_MS = 100
/** Added to the lease of an instance that stopped. An instance reads its file every second. */
const SLACK_MS = 10_000

/** Creates the operations that change the secret of a resource server in two steps, between which both secrets are valid. */
export function credentialOperations(deps: CredentialOperationsDeps) {
  const { followers, leaseMs, timeoutMs = leaseMs + SLACK_MS, onWritten } = deps
  const file = openServersFile(deps)
  const view = async (): Promise<CredentialView> => ({
    servers: await file.read(),
    ...(await followers.view()),
    leaseMs,
  })

  /** Waits until every live instance has loaded the file. @returns their hosts, or which of them have not */
  async function waitForInstances(clientId: string, problem: string): Promise<Result<string[], string>> {
    const deadline = performance.now() + timeoutMs
    for (;;) {
      const now = await view()
      const late = behind(now, clientId).map(({ host }) => host)
      if (late.length === 0 && (await file.isServed())) return ok(liveFollowers(now).map(({ host }) => host))
      if (performance.now() > deadline)
        return err(
          late.length > 0
            ? `${problem}: ${late.join(', ')}.`
            : `${deps.served} still has its earlier content.`,
        )
      await sleep(POLL_MS)
    }
  }
  return {
    view,
    /**
     * Adds a second secret, waits until every instance accepts it, and only then writes it where the API reads it, so
     * that no API presents a secret that an instance does not know. Until then the secret is in `<secretFile>.next`,
     * from which a later call resumes one that was interrupted.
     *
     * @returns the instances that accept both secrets, and whether this call resumed an interrupted one
     */
    async rotate(
      clientId: string,
      { secretFile, replace, trial }: { secretFile: string; replace: boolean; trial: boolean },
    ): Promise<Result<{ fingerprint: string; instances: readonly string[]; resumed: boolean }, string>> {
      const next = `${secretFile}.next`
      const conflict = await file.findConflict(clientId)
      if (conflict !== undefined) return err(conflict)
      const servers = await file.read()
      const pending = await readIfThere(next)
      const resumed = pending !== undefined && secretsIn(servers, clientId).includes(secretDigest(pending))
      if (!replace && (await exists(secretFile)))
        return err(`${secretFile} is there already. To replace it: --replace`)
      const secret = resumed ? pending : createResourceServer(clientId, 'https://none.example').secret
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
        await file.write(more.value)
        onWritten('added', clientId, print)
      }
      const waited = await waitForInstances(clientId, 'Not every instance accepts the new secret')
      if (!waited.ok) return err(`${waited.error} The API keeps the old one. ${file.runAgain}`)
      await rename(next, secretFile)
      return ok({ fingerprint: print, instances: waited.value, resumed })
    },
    /**
     * Removes the older secret, or the newer one to cancel a rotation. If the secret was removed before, but not every
     * instance has loaded that change, it resumes there; also with a copy.
     */
    async finish(
      clientId: string,
      { trial, which, evenIfUsed }: { which: 'older' | 'newer'; evenIfUsed: boolean; trial: boolean },
    ): Promise<Result<{ fingerprint: string; instances: readonly string[] }, string>> {
      const conflict = await file.findConflict(clientId)
      if (conflict !== undefined) return err(conflict)
      const before = await view()
      const digests = secretsIn(before.servers, clientId)
      const isPending = behind(before, clientId).length > 0 || (await file.isExistingCopy())
      const resumed = digests.length === 1 && isPending
      const fewer = resumed ? ok(before.servers) : withoutSecret(before, clientId, { which, evenIfUsed })
      if (!fewer.ok) return fewer
      const [stays = ''] = secretsIn(fewer.value, clientId)
      if (trial) return ok({ fingerprint: fingerprint(stays), instances: [] })
      if (!resumed) {
        await file.write(fewer.value)
        onWritten('ended', clientId, fingerprint(digests.find((digest) => digest !== stays) ?? ''))
      }
      const waited = await waitForInstances(
        clientId,
        'The secret is out of the file, but may still be accepted by',
      )
      if (!waited.ok) return err(`${waited.error} ${file.runAgain}`)
      return ok({ fingerprint: fingerprint(stays), instances: waited.value })
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

/** Opens the file that commands change: the one that instances read or, where that is not writable, a copy of it. */
function openServersFile({ served, copy }: { served: string; copy: string | undefined }) {
  const file = copy ?? served
  /** A copy that does not exist yet starts as the file that instances read. */
  const read = async () => readResourceServers((await exists(file)) ? file : served)
  return {
    read,
    write: (servers: readonly ResourceServer[]) => replaceFile(file, `${JSON.stringify(servers, null, 2)}\n`),
    /** True when instances read the same content. */
    isServed: async () =>
      copy === undefined ||
      JSON.stringify(await readResourceServers(served)) === JSON.stringify(await read()),
    /** True for a copy that an earlier command wrote. */
    isExistingCopy: async () => copy !== undefined && (await exists(copy)),
    /** @returns why the copy must not be used: the file was changed in other ways, which the copy would undo */
    async findConflict(clientId: string): Promise<string | undefined> {
      if (copy === undefined) return undefined
      const [now, copied] = [await readResourceServers(served), await read()]
      if (isAtMostOneStepOn({ served: now, copy: copied }, clientId)) return undefined
      return `${copy} is a copy from before other changes of ${served}. Remove it, and start again.`
    },
    /** What the operator has to do when the wait fails. */
    runAgain: `${copy === undefined ? '' : `Put ${copy} in place of ${served}. `}Run the same command again.`,
  }
}

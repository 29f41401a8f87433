import { readFile, rename, rm } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { err, ok, type Result } from '@plainpath/domain'
import type { ResourceServerFollowerStore } from './resource-server-follower-store.ts'
import { createResourceServer, hashSecret, type ResourceServer, toFingerprint } from './resource-servers.ts'
import { fileExists, readResourceServers, replaceFile, writeDurably } from './resource-servers-file.ts'
import {
  addSecret,
  type CredentialView,
  differsByAtMostOneSecret,
  findLateInstances,
  findLiveInstances,
  listSecrets,
  removeSecret,
} from './rotate-credential.ts'

interface CredentialOperationsDeps {
  /** The path in AUTH_RESOURCE_SERVERS_FILE. */
  readonly servedFile: string
  /** The path of a copy of that file, which is changed instead, and created if it does not exist. */
  readonly copyFile: string | undefined
  readonly followers: Pick<ResourceServerFollowerStore, 'view'>
  readonly leaseMs: number
  /** The time limit for every live instance to load the file; by default `leaseMs` + 10 s. */
  readonly timeoutMs?: number | undefined
  /** Called after a secret of a resource server was added to the file (`added`) or removed from it (`ended`). */
  readonly onWritten: (change: 'added' | 'ended', clientId: string, fingerprint: string) => void
}

const POLL_MS = 100
/** Added to the lease in the default time limit. An instance reads its file about every second. */
const EXTRA_WAIT_MS = 10_000

/** The operations that change a resource server's secret in two steps. Between the steps both secrets are valid. */
export interface CredentialOperations {
  /** Reads the file, and the last reports of the instances. */
  view(): Promise<CredentialView>
  /**
   * Adds a second secret, waits until every instance accepts it, and only then writes it to the file of the API. No API can
   * therefore present a secret that an instance does not know. Until then, the secret is in `<secretFile>.next`, from which a
   * later call resumes an interrupted rotation.
   *
   * @param options.secretFile the file from which the API reads its secret
   * @param options.replace true to overwrite `secretFile` if it exists
   * @returns the fingerprint of the new secret, the running instances (except in a dry run, they all accept the secret), and
   *   whether this call resumed an interrupted rotation
   */
  rotate(
    clientId: string,
    options: { secretFile: string; replace: boolean; dryRun: boolean },
  ): Promise<Result<{ fingerprint: string; instances: readonly string[]; resumed: boolean }, string>>
  /**
   * Removes the older secret, or the newer one to cancel a rotation. If an earlier call removed the secret, but not every
   * instance has loaded that change or a copy still exists, this call resumes the wait.
   *
   * @returns the fingerprint of the remaining secret, and the instances that have loaded the change; none in a dry run
   */
  finish(
    clientId: string,
    options: { which: 'older' | 'newer'; evenIfUsed: boolean; dryRun: boolean },
  ): Promise<Result<{ fingerprint: string; instances: readonly string[] }, string>>
}

export function createCredentialOperations(deps: CredentialOperationsDeps): CredentialOperations {
  const { followers, leaseMs, timeoutMs = leaseMs + EXTRA_WAIT_MS, onWritten } = deps
  const file = createServersFileAccess(deps)
  const view = async (): Promise<CredentialView> => ({
    servers: await file.read(),
    ...(await followers.view()),
    leaseMs,
  })

  /**
   * Waits until every live instance has loaded the file.
   *
   * @param problem the beginning of the sentence that names the instances which have not loaded the file in time
   * @returns their hosts; after the time limit, a sentence that says what is missing
   */
  async function waitForInstances(clientId: string, problem: string): Promise<Result<string[], string>> {
    const deadline = performance.now() + timeoutMs
    for (;;) {
      const currentView = await view()
      const lateHosts = findLateInstances(currentView, clientId).map(({ host }) => host)
      if (lateHosts.length === 0 && (await file.isServed()))
        return ok(findLiveInstances(currentView).map(({ host }) => host))
      if (performance.now() > deadline)
        return err(
          lateHosts.length > 0
            ? `${problem}: ${lateHosts.join(', ')}.`
            : `${deps.servedFile} still has its earlier content.`,
        )
      await sleep(POLL_MS)
    }
  }
  return {
    view,
    async rotate(clientId, { secretFile, replace, dryRun }) {
      const pendingFile = `${secretFile}.next`
      const conflict = await file.findConflict(clientId)
      if (conflict !== undefined) return err(conflict)
      const servers = await file.read()
      const pendingSecret = await readFileIfExists(pendingFile)
      const isResuming =
        pendingSecret !== undefined && listSecrets(servers, clientId).includes(hashSecret(pendingSecret))
      if (!replace && (await fileExists(secretFile)))
        return err(`${secretFile} already exists. To overwrite it, add --replace. Nothing was changed.`)
      // Only the secret is used, so the audience does not matter.
      const secret = isResuming
        ? pendingSecret
        : createResourceServer(clientId, 'https://none.example').secret
      const addition = isResuming ? ok(servers) : addSecret(servers, clientId, hashSecret(secret))
      if (!addition.ok) return addition
      const newFingerprint = toFingerprint(hashSecret(secret))
      if (dryRun)
        return ok({
          fingerprint: newFingerprint,
          instances: findLiveInstances(await view()).map(({ host }) => host),
          resumed: isResuming,
        })
      if (!isResuming) {
        // An earlier call may have left a pending secret that is not in the servers file. `writeDurably` refuses to overwrite it.
        await rm(pendingFile, { force: true })
        await writeDurably(pendingFile, `${secret}\n`, secretFile)
        await file.write(addition.value)
        onWritten('added', clientId, newFingerprint)
      }
      const waitResult = await waitForInstances(clientId, 'Not every instance accepts the new secret')
      if (!waitResult.ok)
        return err(`${waitResult.error} The API still uses the old secret. ${file.retryInstruction}`)
      await rename(pendingFile, secretFile)
      return ok({ fingerprint: newFingerprint, instances: waitResult.value, resumed: isResuming })
    },
    async finish(clientId, { dryRun, which, evenIfUsed }) {
      const conflict = await file.findConflict(clientId)
      if (conflict !== undefined) return err(conflict)
      const currentView = await view()
      const digests = listSecrets(currentView.servers, clientId)
      const isPending = findLateInstances(currentView, clientId).length > 0 || (await file.hasCopy())
      const isResuming = digests.length === 1 && isPending
      const removal = isResuming
        ? ok(currentView.servers)
        : removeSecret(currentView, clientId, { which, evenIfUsed })
      if (!removal.ok) return removal
      const [remainingDigest = ''] = listSecrets(removal.value, clientId)
      if (dryRun) return ok({ fingerprint: toFingerprint(remainingDigest), instances: [] })
      if (!isResuming) {
        await file.write(removal.value)
        onWritten(
          'ended',
          clientId,
          toFingerprint(digests.find((digest) => digest !== remainingDigest) ?? ''),
        )
      }
      const waitResult = await waitForInstances(
        clientId,
        'The secret was removed from the file, but these instances may still accept it',
      )
      if (!waitResult.ok) return err(`${waitResult.error} ${file.retryInstruction}`)
      return ok({ fingerprint: toFingerprint(remainingDigest), instances: waitResult.value })
    },
  }
}

async function readFileIfExists(path: string): Promise<string | undefined> {
  try {
    return (await readFile(path, 'utf8')).trim()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/**
 * Creates the functions that read and change the file of the commands: a copy, if the operator named one, or else the file that
 * the instances read.
 */
function createServersFileAccess({
  servedFile,
  copyFile,
}: Pick<CredentialOperationsDeps, 'servedFile' | 'copyFile'>) {
  const file = copyFile ?? servedFile
  /** Reads the file. A copy that does not exist yet has the content of the file that instances read. */
  const readServers = async () => readResourceServers((await fileExists(file)) ? file : servedFile)
  return {
    read: readServers,
    write: (servers: readonly ResourceServer[]) => replaceFile(file, `${JSON.stringify(servers, null, 2)}\n`),
    /** Returns whether the file that the instances read has the content of the changed file. */
    isServed: async () =>
      copyFile === undefined ||
      JSON.stringify(await readResourceServers(servedFile)) === JSON.stringify(await readServers()),
    /** Returns whether an earlier command wrote a copy. */
    hasCopy: async () => copyFile !== undefined && (await fileExists(copyFile)),
    /**
     * Checks whether the copy lacks other changes of the served file, which it would undo.
     *
     * @returns the reason why the copy must not be used; undefined if it may be used
     */
    async findConflict(clientId: string): Promise<string | undefined> {
      if (copyFile === undefined) return undefined
      const servedServers = await readResourceServers(servedFile)
      const copyServers = await readServers()
      if (differsByAtMostOneSecret({ served: servedServers, copy: copyServers }, clientId)) return undefined
      return `${copyFile} was copied before other changes to ${servedFile}, and would undo them. Remove the copy, and start again.`
    },
    /** The operator's next step when the wait fails. */
    retryInstruction: `${copyFile === undefined ? '' : `Put ${copyFile} in place of ${servedFile}. `}Run the same command again.`,
  }
}

import { writeFile } from 'node:fs/promises'
import {
  argument,
  createFileErrorHandler,
  DRY_RUN,
  flag,
  InvalidArgumentError,
  option,
  Refusal,
} from '@plainpath/commands'
import { holdLock } from '@plainpath/postgres'
import type { Config } from '../config.ts'
import type { AuthEvents } from '../events.ts'
import {
  type CredentialOperations,
  createCredentialOperations,
} from '../resource-servers/credential-operations.ts'
import { formatCredentials, toCredentialsJson } from '../resource-servers/credential-report.ts'
import type { ResourceServerFollowerStore } from '../resource-servers/resource-server-follower-store.ts'
import { createResourceServer, ResourceServer } from '../resource-servers/resource-servers.ts'
import { defineCommand } from './define-command.ts'

const clientId = argument('<client_id>', 'the id of the API, which begins with rs_', (text) => {
  const id = ResourceServer.shape.client_id.safeParse(text)
  if (!id.success)
    throw new InvalidArgumentError('It must be rs_ followed by 1 to 60 characters of A-Z a-z 0-9 _ -.')
  return id.data
})

const serversFile = option(
  '--servers-file <path>',
  'write the change to this copy of AUTH_RESOURCE_SERVERS_FILE instead, if that file is read-only; then replace the file with the copy',
)

const MAX_TIMEOUT_SECONDS = 3_600

const timeout = option(
  '--timeout <seconds>',
  'how long to wait for every instance (default: AUTH_KEYS_LEASE_SECONDS + 10)',
  {
    parse(text) {
      const seconds = Number(text)
      if (/^\d+(\.\d+)?$/.test(text) && seconds <= MAX_TIMEOUT_SECONDS) return seconds
      throw new InvalidArgumentError(`It must be a number of seconds from 0 to ${MAX_TIMEOUT_SECONDS}.`)
    },
  },
)

/** The `resource-servers` commands, for the credentials with which APIs introspect tokens. */
export const resourceServersCommands = [
  defineCommand({
    name: 'resource-servers create',
    summary: 'create a credential, and print its entry for AUTH_RESOURCE_SERVERS_FILE',
    parameters: {
      clientId: argument('<client_id>', 'the id of the API, which begins with rs_'),
      audience: option(
        '--audience <url>',
        'the root URL of the API; the credential can introspect tokens for this API',
        { required: true },
      ),
      secretFile: option('--secret-file <path>', 'where to write the secret; the file must not exist yet', {
        required: true,
      }),
    },
    json: false,
    async run({ args }) {
      const { server, secret } = createResourceServer(args.clientId, args.audience)
      const parsed = ResourceServer.safeParse(server)
      if (!parsed.success)
        throw new Refusal(
          'The client_id must be rs_ followed by 1 to 60 characters of A-Z a-z 0-9 _ -, and the audience must be a URL.',
        )
      await writeFile(args.secretFile, `${secret}\n`, { mode: 0o600, flag: 'wx' }).catch(
        createFileErrorHandler((code) => `The secret file cannot be written (${code}).`),
      )
      return { text: JSON.stringify([parsed.data], null, 2) }
    },
  }),
  defineCommand({
    name: 'resource-servers list',
    summary:
      'list the resource servers, when each secret was first accepted and last used, and the instances that have not loaded the file yet',
    opens: 'database',
    async run(call) {
      // `list` always reads the served file.
      const view = await createOperations({ ...call, args: {} }).view()
      return { json: toCredentialsJson(view), text: formatCredentials(view) }
    },
  }),
  defineCommand({
    name: 'resource-servers rotate',
    summary:
      'add a second secret, wait until every instance accepts it, then write it to the file that the API reads',
    parameters: {
      clientId,
      secretFile: option('--secret-file <path>', 'the file that the API reads', { required: true }),
      replace: flag('--replace', 'overwrite the file if it exists'),
      serversFile,
      timeout,
      dryRun: DRY_RUN,
    },
    opens: 'database',
    async run(call) {
      const { clientId: id, secretFile, replace, dryRun } = call.args
      const rotated = await withChangeLock(call, (operations) =>
        operations.rotate(id, { secretFile, replace, dryRun }),
      )
      if (!rotated.ok) throw new Refusal(rotated.error)
      const { fingerprint, instances, resumed } = rotated.value
      if (dryRun)
        return {
          json: { ok: true, done: false, resumes: resumed, instances },
          text: `Would ${resumed ? `resume the rotation of ${id}, which already has` : `give ${id}`} a second secret. ${describeInstances(instances, 'Running instances')}`,
        }
      return {
        json: { ok: true, done: true, fingerprint, resumed, instances },
        text: [
          `${id} has a second secret, ${fingerprint}, in ${secretFile}. Both secrets are valid.`,
          describeInstances(instances, 'Accepted by'),
          `When the API uses the new secret, run: auth resource-servers finish ${id}`,
        ].join('\n'),
      }
    },
  }),
  defineCommand({
    name: 'resource-servers finish',
    summary: 'remove the older secret if nobody uses it any more',
    parameters: {
      clientId,
      callOff: flag('--call-off', 'remove the newer secret instead, if it was never used'),
      evenIfUsed: flag(
        '--even-if-used',
        'remove the older secret even if it is in use, for example after a leak',
        ['callOff'],
      ),
      serversFile,
      timeout,
      dryRun: DRY_RUN,
    },
    opens: 'database',
    async run(call) {
      const { clientId: id, callOff, evenIfUsed, dryRun } = call.args
      const which = callOff ? 'newer' : 'older'
      const finished = await withChangeLock(call, (operations) =>
        operations.finish(id, { which, evenIfUsed, dryRun }),
      )
      if (!finished.ok) throw new Refusal(finished.error)
      const { fingerprint, instances } = finished.value
      return {
        json: { ok: true, done: !dryRun, fingerprint, instances },
        text: dryRun
          ? `Would make ${fingerprint} the only secret of ${id}.`
          : [
              `The only secret of ${id} is ${fingerprint}.`,
              describeInstances(instances, 'Loaded by'),
              ...(callOff
                ? [
                    `If the file of the API has the removed secret, give it another one: auth resource-servers rotate ${id} --secret-file <path> --replace`,
                  ]
                : []),
            ].join('\n'),
      }
    },
  }),
]

const describeInstances = (hosts: readonly string[], label: string) =>
  hosts.length > 0 ? `${label}: ${hosts.join(', ')}` : 'No instance of the authorization server is running.'

interface CommandCall {
  readonly config: Config
  readonly stores: { readonly resourceServerFollowers: ResourceServerFollowerStore }
  readonly events: AuthEvents
  readonly args: { readonly serversFile?: string | undefined; readonly timeout?: number | undefined }
}

function createOperations({ config, stores, events, args }: CommandCall): CredentialOperations {
  const isCopy = args.serversFile !== undefined
  return createCredentialOperations({
    servedFile: config.resourceServersFile,
    copyFile: args.serversFile,
    followers: stores.resourceServerFollowers,
    leaseMs: config.keys.leaseMs,
    timeoutMs: args.timeout === undefined ? undefined : args.timeout * 1_000,
    onWritten: (change, id, fingerprint) =>
      void events.emit(`api-secret-${change}`, {
        resource_server: id,
        fingerprint,
        ...(isCopy && { copy: true }),
      }),
  })
}

/** The system calls whose errors are reported as a file that cannot be read or written. */
const FILE_CALLS: ReadonlySet<unknown> = new Set(['open', 'rename', 'write', 'fsync', 'fchown', 'fchmod'])

/**
 * Runs a change while it holds a lock in the database, so that no other `rotate` or `finish` runs.
 *
 * @throws {Refusal} if another command has the lock, or if a file cannot be read or written
 */
async function withChangeLock<T>(
  call: CommandCall,
  change: (operations: CredentialOperations) => Promise<T>,
): Promise<T> {
  await using lock = await holdLock(call.config.sessionDatabaseUrl, 'plainpath resource servers')
  if (!lock)
    throw new Refusal(
      'Another command is changing the resource servers now. Nothing was changed. When that command has ended, run this command again.',
    )
  return await change(createOperations(call)).catch((error: unknown) => {
    const { code, syscall, path } = error as NodeJS.ErrnoException
    if (!code || !FILE_CALLS.has(syscall)) throw error
    // The error of a call on an open file, such as `fsync`, has no path.
    const file = path === undefined ? '' : `: ${path}`
    throw new Refusal(`A file cannot be read or written${file} (${code}).`)
  })
}
